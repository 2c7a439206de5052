#include <algorithm>
#include <string>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/end_teller.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/name_nodes.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"
#include "transport/session/session.hpp"

// The consequences of deaths and returns.
namespace scoll::detail {

void engine::on_dead(node_id node, std::uint64_t incarnation) {
  if (node == options_.id || incarnation == 0) return;
  end_life(node, incarnation);
  transport::session* const peer = endpoint_.find(node);
  if (SCOLL_MUTANT(old_death_believed,
                   "the death of an earlier life is taken for the death of the present one") &&
      peer != nullptr)
    incarnation = std::max(incarnation, peer->peer_incarnation());
  if (peer != nullptr && peer->peer_incarnation() > incarnation) return;
  if (!lives_.die(node, incarnation)) return;
  journal_->peer_dead(node, incarnation);
  if (peer != nullptr) peer->declare_dead(incarnation);
  ends_->died(node);
  agreements_->verdict_on(node);
}

void engine::on_alive(node_id node, std::uint64_t incarnation) {
  if (node == options_.id || incarnation == 0) return;
  lives_.report(node, incarnation);
  on_life(node, incarnation);
}

void engine::on_life(node_id node, std::uint64_t incarnation) {
  if (!lives_.live(node, incarnation)) return;
  journal_->peer_alive(node, incarnation);
  if (transport::session* peer = endpoint_.find(node)) peer->declare_alive(incarnation);
  end_life(node, incarnation - 1);
  revokes_->returned(node);
  ends_->heard_of(node);
  agreements_->verdict_on(node);
}

/// Removes the state of a node's lives up to `last_incarnation`: the broadcasts rooted there, whose answers
/// are not awaited any more, and the groups it created.
void engine::end_life(node_id node, std::uint64_t last_incarnation) {
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    const operation_id& id = op->subject_.head.operation;
    if (id.root == node && id.incarnation <= last_incarnation) {
      op->end_by(end_cause::root_dead, make_error(errc::peer_died, "node {}, the root, is dead", node));
    }
  }
  admissions_->end_root(node, last_incarnation);
  if (SCOLL_MUTANT(group_outlives_creator, "a group is kept after its creator has died")) return;
  const bool all = SCOLL_MUTANT(members_die_with_creator, "a group does not outlive its creator");
  for (const auto& group : groups_.created_by(node, last_incarnation)) {
    if (!all && group->ends_with == lifetime::members) continue;
    // If the verdict is wrong, a delayed group comes back with the next request.
    if (group->holders != nullptr) windows_.keep(*group);
    end_group(group, {group_fate::destroyed, node, 0});
  }
  groups_.end_lives(node, last_incarnation);
}

rank_set engine::living(const group_state& group, const rank_set& among) const {
  if (SCOLL_MUTANT(alive_means_all, "a broadcast to the living is for the dead as well")) return among;
  rank_set fallen;
  for (const std::uint32_t rank : dead_ranks(group)) fallen.append(rank, rank + 1);
  return among - fallen;
}

/// The members that are known to be dead, in the order of their ranks.
std::vector<std::uint32_t> engine::dead_ranks(const group_state& group) const {
  std::vector<std::uint32_t> dead;
  for (const node_id node : lives_.dead()) {
    if (const auto rank = group.members->rank_of(node)) dead.push_back(*rank);
  }
  std::sort(dead.begin(), dead.end());
  return dead;
}

/// Names the dead members, as far as the text has room.
error engine::dead_among(const addressees& to) const {
  if (lives_.dead().empty()) return {};
  const rank_set all = to.subset != nullptr ? to.subset->ranks() : rank_set::all(to.group->members->size());
  const rank_set dead = all - living(*to.group, all);
  if (dead.empty()) return {};
  return make_error(errc::peer_died, "dead: {}", name_nodes(*to.group->members, dead));
}

outcome engine::nothing_sent(const addressees& to, const error& why) const {
  const std::uint32_t n = to.group->members->size();
  const std::uint32_t self = to.group->self_rank;
  const rank_set all = rank_set::all(n);
  const rank_set addressed = to.subset != nullptr && !to.invalid ? to.subset->ranks() : all;
  const rank_set dead = why == errc::peer_died ? addressed - living(*to.group, addressed) : rank_set{};
  outcome_builder fate;
  const std::uint16_t refused = fate.add_cause({dead.empty() ? phase::none : phase::liveness, why, self});
  const auto add = [&](const rank_set& ranks, member_state state, std::uint16_t cause_index) {
    for (const rank_range& r : ranks.ranges()) fate.add(r, state, cause_index);
  };
  add(addressed - dead, member_state::not_reached, refused);
  dead.for_each([&](std::uint32_t rank) {
    const error died = make_error(errc::peer_died, "node {} is dead", to.group->members->node(rank));
    fate.add({rank, rank + 1}, member_state::not_reached, fate.add_cause({phase::liveness, died, self}));
  });
  add(all - addressed, member_state::excluded, 0);
  fate.normalise();
  return {n, {fate.runs().begin(), fate.runs().end()}, {fate.causes().begin(), fate.causes().end()}};
}

/// True if this node would have chosen other members for a broadcast to the living. It always counts itself
/// as alive.
bool engine::view_differs(const group_state& group, const subset& root_sees) const {
  const std::uint32_t n = group.members->size();
  if (lives_.dead().empty()) return root_sees.size() != n;
  return living(group, rank_set::all(n)) != root_sees.ranks();
}

}  // namespace scoll::detail
