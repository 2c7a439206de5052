#include "epoch_group.hpp"

#include <chrono>
#include <optional>
#include <utility>

#include "collectives.hpp"
#include "scoll/coro/error_format.hpp"

namespace shard {
namespace {

constexpr scoll::nanoseconds step_limit = std::chrono::seconds(3);

scoll::bcast_options limits(scoll::stop_token stop) {
  scoll::bcast_options options;
  options.deadline = step_limit;
  options.stop = stop;
  options.dead = scoll::dead_members::try_others;  // one may be called dead between the choice and the start
  return options;
}

}  // namespace

epoch_group::epoch_group(scoll::node& self, std::uint32_t servers)
    : self_(self), quorum_{{scoll::rank_set::all(servers), servers / 2 + 1}} {}

scoll::task<scoll::result<epoch_reply>> epoch_group::ask(const epoch_request& request,
                                                         scoll::stop_token stop) {
  scoll::bcast_options options = limits(stop);
  options.until = scoll::quorum_sets(quorum_);
  auto asked = co_await broadcast(request, options, quorum_.front().members);
  if (!asked.ok()) co_return asked.status().error();
  co_return std::move(*asked);
}

scoll::task<scoll::status> epoch_group::tell(const epoch_request& request, scoll::stop_token stop) {
  const auto told = co_await broadcast(request, limits(stop), 1);
  co_return told.status();
}

namespace {

scoll::bcast_result<epoch_reply> nobody_asked(const scoll::error& why) {
  return {why, std::nullopt, scoll::outcome()};
}

}  // namespace

/// Asks those that are not known to be dead, so that nobody is below a dead one in the tree. A server that
/// was started anew is asked twice: the first time, it may have to ask its cluster file for the group.
scoll::task<scoll::bcast_result<epoch_reply>> epoch_group::broadcast(const epoch_request& request,
                                                                     scoll::bcast_options options,
                                                                     std::uint32_t needed) {
  const auto everybody = co_await self_.out_of_band<epochs>(epochs::everybody);
  if (!everybody) co_return nobody_asked(everybody.error());
  const auto living = everybody->alive();
  const auto alive = living.addressed().size();
  if (alive < needed) {
    co_return nobody_asked(scoll::make_error(scoll::errc::incomplete,
                                             "{} of {} servers are held alive, {} are needed", alive,
                                             everybody->addressed().size(), needed));
  }
  auto answered = co_await scoll::bcast(living, request, options);
  if (!answered.ok() && collectives::knows_a_stale_group(answered.outcome()))
    answered = co_await scoll::bcast(living, request, options);
  co_return answered;
}

}  // namespace shard
