#include "client_commands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "scoll/coro/error_format.hpp"
#include "transport/session/greeting.hpp"

namespace shard {
namespace {

using scoll::errc;

/// What to do about servers that have not, or may not have, carried out a command.
std::string advice(const answer_account& account, const command& c) {
  if (account.ended && account.absent.empty()) return {};
  const scoll::outcome& o = account.outcome;
  const bool refused = !o.failed().empty();
  const std::string again = fmt::format("{} {}", c.name, c.client);
  const std::string missing = fmt::format(
      "repeat `shardctl {}` when the missing servers run again: it changes nothing on the others", again);
  const char* const meanwhile =
      c.name == "evict" ? "; until then, a server that comes back may serve what the others refuse"
                        : "; until then, a server that comes back may refuse what the others serve";
  if (!refused) return missing + meanwhile;
  return fmt::format("see to the servers that failed; then repeat `shardctl {}`", again);
}

}  // namespace

/// If the group of all servers cannot be made, because one of them is dead, the others are asked.
scoll::task<answer<clients::reply>> client_commands::ask(const clients::request& request, const command& c,
                                                         scoll::stop_token stop) {
  ask_options options;
  options.deadline = c.until;
  options.stop = stop;
  options.repair = true;
  options.trace = true;
  auto answered = co_await all_.ask<clients>(request, options);
  const bool nobody = answered.account.outcome.not_reached().size() == answered.account.outcome.members();
  if (answered.value || !nobody || answered.account.absent.empty()) co_return std::move(answered);
  options.living = true;
  co_return co_await all_.ask<clients>(request, options);
}

scoll::task<json> client_commands::run(const command& c, scoll::stop_token stop) {
  if (c.note.size() > eviction_list::longest_note) {
    co_return failure(make_error(errc::invalid_argument, "a note of {} bytes: at most {} are allowed",
                                 c.note.size(), eviction_list::longest_note));
  }
  if (c.name != "clients" && !scoll::transport::is_client(c.client)) {
    co_return failure(make_error(errc::invalid_argument, "{} is no client: their ids are {} or more",
                                 c.client, scoll::transport::client_bit));
  }
  clients::request request;
  request.step = c.name == "evict"   ? client_step::evict
                 : c.name == "admit" ? client_step::admit
                                     : client_step::show;
  request.client = c.client;
  request.note = c.note;
  const auto answered = co_await ask(request, c, stop);
  json all = to_json(answered);
  all["root"] = self_.id();
  if (answered.value && request.step != client_step::show) all["value"]["client"] = c.client;
  if (request.step != client_step::show) all["advice"] = advice(answered.account, c);
  if (!answered.account.trace.empty()) all["trace"] = to_text(answered.account.trace);
  co_return all;
}

}  // namespace shard
