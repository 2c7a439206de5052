#include "collectives.hpp"

#include <spdlog/spdlog.h>

#include <set>

#include "scoll/coro/error_format.hpp"

namespace shard {

scoll::task<scoll::result<scoll::tree_plan>> collectives::plan(scoll::time_limit limit) {
  const scoll::deadline until = limit.from(scoll::executor::current().now());
  co_await planning_.acquire();  // one measurement at a time
  scoll::plan_options options;
  options.measure_pinned = true;
  options.measure.deadline = earlier(options.measure.deadline, until);
  auto chosen = co_await scoll::plan_tree(self_, all_, options);
  planning_.release();
  if (!chosen) {
    spdlog::warn("no tree could be chosen: {}", describe(chosen.error()));
    co_return chosen.error();
  }
  if (choose_tree_) {
    tree_ = chosen->tree;
    spdlog::info("tree {}: {}", to_string(chosen->tree), chosen->why);
  }
  co_return std::move(*chosen);
}

/// A member that was restarted no longer holds the group, and its children were not reached for that reason.
bool collectives::knows_a_stale_group(const scoll::outcome& outcome) {
  return std::any_of(outcome.causes().begin(), outcome.causes().end(), [](const scoll::cause& c) {
    return c.what == scoll::errc::unknown_group || c.what == scoll::errc::peer_rebooted;
  });
}

/// True if the group had been revoked when it was asked, so that no member has begun. A question whose members
/// have begun is not asked again: it is the one that somebody wanted to end.
bool collectives::was_revoked_before(const answer_account& account) {
  return account.ended.error() == scoll::errc::revoked &&
         account.outcome.count(scoll::member_state::not_reached) +
                 account.outcome.count(scoll::member_state::excluded) ==
             account.outcome.members();
}

/// True if some members could not be reached though they were believed to be alive, and all others have
/// answered.
bool collectives::misses_somebody(const scoll::outcome& outcome) {
  return outcome.count(scoll::member_state::not_reached) != 0 &&
         outcome.count(scoll::member_state::unknown) == 0;
}

std::vector<absent_node> collectives::absent_from(const answer_account& account) {
  std::vector<absent_node> absent;
  account.outcome.in(scoll::member_state::excluded).for_each([&](std::uint32_t rank) {
    absent.push_back({account.members->node(rank), {scoll::errc::peer_died, "gossip calls it dead"}});
  });
  return absent;
}

answer_account collectives::nothing_sent(const scoll::error& why) const {
  answer_account account;
  account.ended = why;
  account.members = scoll::membership::make(all_).value();
  const std::uint32_t n = account.members->size();
  std::vector<scoll::member_report> reports(1);
  reports[0] = {{0, n}, scoll::member_state::not_reached, 1};
  std::vector<scoll::cause> causes(2);
  causes[1] = {scoll::phase::none, why, *account.members->rank_of(self_.id())};
  account.outcome = scoll::outcome(n, std::move(reports), std::move(causes));
  return account;
}

std::vector<scoll::target> collectives::without(const std::vector<absent_node>& absent) const {
  std::set<scoll::node_id> gone;
  for (const absent_node& each : absent) gone.insert(each.node);
  std::vector<scoll::target> present;
  for (const scoll::target& each : all_) {
    if (!gone.contains(each.node)) present.push_back(each);
  }
  return present;
}

}  // namespace shard
