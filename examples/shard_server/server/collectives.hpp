#pragma once

#include <algorithm>
#include <chrono>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "../services/clients.hpp"
#include "../services/df.hpp"
#include "../services/find.hpp"
#include "../services/ingest.hpp"
#include "../services/ls.hpp"
#include "../services/progress.hpp"
#include "../services/scrub.hpp"
#include "../services/top.hpp"
#include "answer.hpp"
#include "ask_group.hpp"
#include "kept_group.hpp"
#include "roll_call.hpp"
#include "scoll/collective/plan_tree.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/node.hpp"

namespace shard {

/// How a question is asked of the cluster.
struct ask_options {
  scoll::time_limit deadline;  ///< for the whole question, including groups and retries
  scoll::stop_token stop;
  bool living = false;  ///< ask only members that are alive
  bool trace = false;   ///< have the answer tell what happened when
  bool repair = false;  ///< ask those below a dead one by another way
};

/// The services whose group is not worth a message of its own. A person asks for the largest objects when a
/// disk fills up, of any server, and seldom twice before a restart; the members hear of the group with the
/// question. An `ingest` is as rare, but it writes: it begins only if all servers hold its group.
template <class S>
inline constexpr bool asked_rarely = std::is_same_v<S, top>;

/// Asks all servers, with this one as the root. It must outlive its questions.
class collectives {
 public:
  /// With `choose_tree`, the first question measures the links and chooses a tree before it creates a group.
  collectives(scoll::node& self, std::vector<scoll::target> all, bool choose_tree)
      : self_(self), all_(std::move(all)), choose_tree_(choose_tree) {}

  template <scoll::collective_service S>
  scoll::task<answer<typename S::reply>> ask(const typename S::request& request, ask_options options) {
    if (options.living) co_return co_await ask_living<S>(request, options);
    auto& kept = std::get<kept_group<S>>(groups_);
    const scoll::deadline until = options.deadline.from(scoll::executor::current().now());
    for (bool again = true;; again = false) {
      const auto group = co_await group_of<S>(until);
      if (!group) co_return co_await nobody_asked<S>(group.error(), options.stop);
      auto answered = co_await ask_group<S>(*group, request, within(until, options));
      if (answered.account.ended.error() == scoll::errc::revoked) {
        kept.let_go(self_, *group);
        if (!again || !was_revoked_before(answered.account)) co_return answered;
        continue;
      }
      if (!knows_a_stale_group(answered.account.outcome)) co_return answered;
      if constexpr (!asked_rarely<S>) co_await kept.drop(self_, *group);  // a delayed one takes them in again
      if (!again) co_return answered;
    }
  }

  /// The group that is kept for a service.
  template <class S>
  scoll::task<scoll::result<scoll::group<S>>> group_of(scoll::deadline until) {
    if (choose_tree_ && !tree_) {
      const auto planned = co_await plan(until);
      planned.ignore();
    }
    auto group = co_await std::get<kept_group<S>>(groups_).get(self_, all_, creation_of<S>(until));
    co_return group;
  }
  /// Gives up that group, because a member no longer holds it.
  template <class S>
  scoll::task<void> drop(scoll::group<S> stale) {
    co_await std::get<kept_group<S>>(groups_).drop(self_, stale);
  }

  /// Answers a question whose group could not be created. It asks each server on its own, because a tree does
  /// not tell which members are missing.
  template <class S>
  scoll::task<answer<typename S::reply>> nobody_asked(scoll::error why, scoll::stop_token stop) {
    answer<typename S::reply> none;
    none.account = nothing_sent(why);
    if (!stop.stop_requested()) none.account.absent = co_await roll_call(self_, all_, roll_call_limit);
    co_return none;
  }

  /// The options of a group that has to be there by `until`.
  scoll::group_options creation(scoll::deadline until) const {
    scoll::group_options options;
    options.tree = tree_;
    options.deadline = earlier(options.deadline, until);
    return options;
  }
  /// All servers, in the order of the cluster file.
  const std::vector<scoll::target>& servers() const noexcept { return all_; }
  /// The servers that are not among those.
  std::vector<scoll::target> without(const std::vector<absent_node>& absent) const;
  /// True if members no longer hold the group, because they were restarted.
  static bool knows_a_stale_group(const scoll::outcome& outcome);

  /// Measures the links and chooses a tree. If trees are to be chosen, groups created from now on use it.
  scoll::task<scoll::result<scoll::tree_plan>> plan(scoll::time_limit limit);
  /// The tree for new groups; empty means the node's default.
  const std::optional<scoll::tree_spec>& tree() const noexcept { return tree_; }

 private:
  static constexpr scoll::nanoseconds roll_call_limit = std::chrono::seconds(3);

  static scoll::bcast_options within(scoll::deadline until, const ask_options& asked) {
    scoll::bcast_options options;
    options.deadline = until;
    options.stop = asked.stop;
    options.trace = asked.trace;
    if (!asked.repair) return options;
    options.on_failure = scoll::repair;
    options.dead = scoll::dead_members::try_others;
    return options;
  }

  /// Asks through the existing group, restricted to the members that gossip sees as alive. If there is no
  /// group, or gossip has not yet noticed an absence, a roll call finds the members that can form another
  /// group.
  template <class S>
  scoll::task<answer<typename S::reply>> ask_living(const typename S::request& request, ask_options options) {
    const scoll::deadline until = options.deadline.from(scoll::executor::current().now());
    auto& kept = std::get<kept_group<S>>(groups_);
    if (const scoll::group<S> held = kept.held(); held.valid()) {
      auto answered = co_await ask_group<S>(held.alive(), request, within(until, options));
      answered.account.absent = absent_from(answered.account);
      const bool stale =
          knows_a_stale_group(answered.account.outcome) || was_revoked_before(answered.account);
      if (!stale && !misses_somebody(answered.account.outcome)) co_return answered;
      if (stale) co_await kept.drop(self_, held);
    }
    std::vector<absent_node> absent = co_await roll_call(self_, all_, roll_call_limit, until);
    const std::vector<scoll::target> present = without(absent);
    const auto group = co_await self_.create_group<S>(present, creation(until));
    if (!group) co_return co_await nobody_asked<S>(group.error(), options.stop);
    auto answered = co_await ask_group<S>(*group, request, within(until, options));
    const scoll::status told = co_await self_.destroy(*group);
    told.ignore();
    answered.account.absent = std::move(absent);
    co_return answered;
  }

  static scoll::deadline earlier(scoll::time_limit limit, scoll::deadline until) {
    return std::min(limit.from(scoll::executor::current().now()), until);
  }
  /// The options of the group that is kept for a service.
  template <class S>
  scoll::group_options creation_of(scoll::deadline until) const {
    scoll::group_options options = creation(until);
    options.name = S::name;
    if constexpr (asked_rarely<S>) options.populate = scoll::populate::delayed;
    return options;
  }
  static bool was_revoked_before(const answer_account& account);
  static bool misses_somebody(const scoll::outcome& outcome);
  static std::vector<absent_node> absent_from(const answer_account& account);
  answer_account nothing_sent(const scoll::error& why) const;

  scoll::node& self_;
  std::vector<scoll::target> all_;
  bool choose_tree_;
  std::optional<scoll::tree_spec> tree_;
  scoll::semaphore planning_{1};
  std::tuple<kept_group<df>, kept_group<scrub>, kept_group<progress>, kept_group<find>, kept_group<top>,
             kept_group<ls>, kept_group<ingest>, kept_group<clients>>
      groups_;
};

}  // namespace shard
