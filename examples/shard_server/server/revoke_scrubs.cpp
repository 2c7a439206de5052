#include "revoke_scrubs.hpp"

#include <limits>
#include <map>

#include "../services/scrub.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

using scoll::errc;

constexpr std::size_t longest_reason = 64;  // bytes that travel

json report_of_revoke(std::uint64_t run, const scoll::revoke_report& told) {
  json one;
  one["run"] = run;
  one["root"] = run >> 32;  // see commands::new_run
  one["emitted"] = told.emitted;
  one["connecting"] = told.connecting;
  one["owed"] = told.owed;
  return one;
}

scoll::status check_reason(const command& c) {
  if (c.code > std::numeric_limits<std::uint32_t>::max())
    return scoll::error(errc::invalid_argument, "'code' has 32 bits at most");
  if (c.text.size() > longest_reason) {
    return scoll::make_error(errc::invalid_argument, "a text of {} bytes: at most {} travel", c.text.size(),
                             longest_reason);
  }
  return {};
}

}  // namespace

scoll::task<json> revoke_scrubs(scoll::node& self, const progress_board& board, const command& c) {
  if (const auto good = check_reason(c); !good) co_return failure(good.error());
  std::map<scoll::group_id, std::uint64_t> running;  // several scrubs of one root share its group
  board.for_each_revocable([&](const run_progress& each) { running.emplace(*each.revocable, each.run); });
  if (running.empty()) co_return failure({errc::not_found, "no scrub runs on this server"});
  json revoked = json::array();
  for (const auto& [id, run] : running) {
    const auto group = self.find_group<scrub>(id);
    if (!group) continue;  // it has ended meanwhile
    const auto told = co_await group->revoke(static_cast<std::uint32_t>(c.code), c.text);
    if (!told) co_return failure(told.error());
    revoked.push_back(report_of_revoke(run, *told));
  }
  json all = failure(scoll::error());
  all["value"] = {{"code", c.code}, {"text", c.text}, {"revoked", std::move(revoked)}};
  co_return all;
}

}  // namespace shard
