#include "epoch_desk.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "../services/epochs.hpp"
#include "ask_group.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

void describe_epoch(json& value, const committed_epoch& at) {
  value["epoch"] = at.epoch;
  if (at.epoch == 0) return;
  value["epoch_note"] = at.content.note;
  value["epoch_by"] =
      fmt::format("node {}, life {}, request {}", at.content.node, at.content.life, at.content.number);
}

}  // namespace

scoll::task<json> epoch_desk::commit(const command& c, scoll::stop_token stop) {
  scoll::deadline_stop limit(c.until, stop);
  const auto reached = co_await coordinator_.commit(c.note, limit.token());
  if (!reached) {
    spdlog::warn("commit: {}", describe(reached.error()));
    co_return failure(limit.explain(reached.error()));
  }
  spdlog::info("epoch {} is decided: {}", reached->epoch, reached->content.note);
  json all = failure(scoll::error());
  all["root"] = self_.id();
  describe_epoch(all["value"], *reached);
  co_return all;
}

/// Asks all servers, dead or not, so that the answer says who is missing.
scoll::task<json> epoch_desk::show(const command& c, scoll::stop_token stop) {
  const auto group = co_await self_.out_of_band<epochs>(epochs::everybody);
  if (!group) co_return failure(group.error());
  scoll::bcast_options options;
  options.deadline = c.until;
  options.stop = stop;
  options.dead = scoll::dead_members::try_others;
  const epoch_request look;
  const auto answered = co_await ask_group<epochs>(*group, look, options);
  json all = to_json(answered.account);
  all["root"] = self_.id();
  if (!answered.value) co_return all;
  describe_epoch(all["value"], answered.value->latest);
  all["value"]["lowest"] = answered.value->lowest.value;
  all["value"]["open"] = answered.value->open_vote() != nullptr;
  co_return all;
}

void epoch_desk::add_to(json& status) const {
  describe_epoch(status, member_.state().committed);
  status["epoch_settled"] = !member_.must_ask();
}

}  // namespace shard
