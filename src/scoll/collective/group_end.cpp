#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/called.hpp"
#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/end_teller.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/name_nodes.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "transport/session/session.hpp"

// This file destroys groups. A group ends here at once. Its members are told over its tree; members that this
// misses are told directly, and members that cannot be told now are told in the background.
namespace scoll::detail {
namespace {

constexpr nanoseconds tell_limit = std::chrono::seconds(5);

rank_set all_but(const group_state& group, std::uint32_t rank) {
  return rank_set::all(group.members->size()) - rank_set{rank};
}

/// The members that certainly do not hold the group any more. A refusal counts only if it came from the
/// member itself: accounts of a subtree may give one cause for several members, and so does the last cause of
/// an outcome that has more than it can list.
rank_set gone_after(const outcome& told, const tree_spec& tree) {
  if (told.reports().empty()) return rank_set::all(told.members());
  const bool direct = tree == tree_spec(flat{});
  rank_set gone;
  for (const member_report& r : told.reports()) {
    const bool refused = direct && r.state == member_state::failed &&
                         r.cause_index < outcome_builder::max_causes &&
                         shows_no_group(told.causes()[r.cause_index].what);
    if (refused || r.state == member_state::merged || r.state == member_state::executed)
      gone.append(r.members.first, r.members.last);
  }
  return gone;
}

/// The members at `ranks`, beside this node. Null, which stands for all members, if that would be too large.
subset_ptr these_of(const group_state& group, const rank_set& ranks) {
  auto made = subset::make(ranks | rank_set{group.self_rank}, group.members->size());
  return made ? std::move(*made) : nullptr;
}

rank_set ranks_of(const group_state& group, const std::vector<node_id>& nodes) {
  std::vector<std::uint32_t> ranks;
  ranks.reserve(nodes.size());
  for (const node_id node : nodes) ranks.push_back(*group.members->rank_of(node));
  std::sort(ranks.begin(), ranks.end());
  rank_set set;
  for (const std::uint32_t rank : ranks) set.append(rank, rank + 1);
  return set;
}

/// Names the members that were not told, with the reason of the first.
error not_told(const group_state& group, const rank_set& untold, const result<outcome>& told) {
  const error why = told ? told->why(untold.ranges().front().first).what : told.error();
  return make_error(errc::incomplete, "{}{} of {} members were not told: {}: {}", name_before(group),
                    untold.size(), group.members->size(), name_nodes(*group.members, untold), why.text());
}

error shutting_down() {
  return {errc::closed, "this node is shutting down"};
}

}  // namespace

std::size_t engine::groups_ending() const noexcept {
  return ends_->groups().waiting();
}

void engine::stop_telling() noexcept {
  revokes_->stop();
  ends_->stop();
  agreements_->stop();
}

task<status> engine::destroy_group(std::shared_ptr<group_state> group) {
  if (group == nullptr)
    co_return error(errc::invalid_argument, "the group is empty: take one from create_group or find_group");
  if (group->end_owed) {
    status again = co_await destroy_again(std::move(group));
    co_return again;
  }
  if (group->forgotten) co_return why_ended(*group);
  if (group->id.creator == 0) {
    end_group(group, {group_fate::destroyed, options_.id, 0});
    co_return status{};
  }
  // Survivors that have not heard of a shrink would find nothing to shrink.
  if (agreements_->owes_shrink(*group) && !work_.closed()) {
    co_await agreements_->tell_shrink(group);
    if (group->forgotten) co_return error(errc::unknown_group, "the group has been destroyed");
  }
  const bool asks = group->ends_with == lifetime::creator && group->id.creator != options_.id;
  if (asks) {
    status answered = co_await ask_creator(std::move(group));
    co_return answered;
  }
  status ended = co_await end_everywhere(std::move(group));
  co_return ended;
}

/// Ends a group here and tells the other members.
task<status> engine::end_everywhere(std::shared_ptr<group_state> group) {
  const bool reserved = ends_->groups().reserve();
  const bool floods = group->ends_with == lifetime::members;
  if (floods) revokes_->announce_end(group);
  end_group(group, {group_fate::destroyed, options_.id, 0});
  addressees to{group};
  rank_set untold = all_but(*group, group->self_rank);
  // If notices of the end flood, members may have dropped the group already and would pass nothing down a
  // tree.
  const tree_spec tree = floods ? tree_spec(flat{}) : group->tree;
  auto told = co_await run_on_group(to, collective_kind::forget, tree, tell_limit);
  if (told) untold = untold - gone_after(*told, tree);
  // The members below a lost one have not heard of it.
  if (told && !living(*group, untold).empty()) {
    to.subset = these_of(*group, untold);
    told = co_await run_on_group(to, collective_kind::forget, flat{}, tell_limit);
    if (told) untold = untold - gone_after(*told, flat{});
  }
  if (reserved) tell_later(*group, untold);
  if (untold.empty()) co_return status{};
  if (work_.closed()) co_return shutting_down();
  group->end_owed = reserved;
  co_return not_told(*group, untold, told);
}

/// Ends a group here after its last broadcast, of which `told` is the outcome. The members that it has missed
/// are told in the background.
void engine::end_after_last(const std::shared_ptr<group_state>& group, const outcome& told) {
  const bool reserved = ends_->groups().reserve();
  end_group(group, {group_fate::destroyed, options_.id, 0});
  const rank_set untold = all_but(*group, group->self_rank) - gone_after(told, group->tree);
  if (!reserved) return;
  tell_later(*group, untold);
  group->end_owed = !untold.empty();
}

/// Ends a group whose creator is another node: the creator is asked to end it. Until the creator's word comes
/// over the tree, this node keeps the group, closed, so that it can pass the word on. If the creator does not
/// answer, or shuts down before it has told all, this node tells the members.
task<status> engine::ask_creator(std::shared_ptr<group_state> group) {
  group->forgotten = true;
  end_operations(*group);
  const end_requests::answer heard = co_await end_requests_->ask(group->id);
  const bool has_left = heard.creator_says && heard.creator_says->error() == errc::closed;
  if ((!heard.creator_says || has_left) && !work_.closed()) {
    status ended = co_await end_everywhere(std::move(group));
    co_return ended;
  }
  end_group(group, {group_fate::destroyed, group->id.creator, 0});
  co_return heard.creator_says ? *heard.creator_says : status(shutting_down());
}

/// The statement about this node's creations for members that hear of the end of its group.
std::optional<creation_statement> engine::statement_for(const group_id& id) const {
  if (id.creator != options_.id || id.incarnation != options_.incarnation) return std::nullopt;
  return creations_.statement();
}

/// Keeps what is needed to tell the members of `untold` in the background, in the place that was reserved.
void engine::tell_later(const group_state& group, const rank_set& untold) {
  if (untold.empty() || work_.closed() || !tells_later_ ||
      SCOLL_MUTANT(destroy_forgets_missed, "members that a `destroy` has missed are not told later"))
    return ends_->groups().release();
  ended_group kept{group.id, group.service, group.self_rank, group.next_counter, group.ends_with, {}};
  untold.for_each([&](std::uint32_t rank) { kept.untold.push_back(group.members->node(rank)); });
  ends_->keep(std::move(kept));
  const rank_set dead = untold - living(group, untold);
  dead.for_each([&](std::uint32_t rank) { ends_->died(group.members->node(rank)); });
}

/// Tells at once those members that an earlier call could not tell and that have not been told since.
task<status> engine::destroy_again(std::shared_ptr<group_state> group) {
  if (work_.closed()) co_return shutting_down();
  ending_groups& ends = ends_->groups();
  const rank_set untold = ranks_of(*group, ends.untold(group->id));
  if (untold.empty()) co_return status{};
  addressees to{group, these_of(*group, untold)};
  const auto told = co_await run_on_group(to, collective_kind::forget, flat{}, tell_limit);
  if (work_.closed()) co_return shutting_down();
  if (told) {
    const rank_set gone = untold & gone_after(*told, flat{});
    gone.for_each([&](std::uint32_t rank) { ends.settle(group->id, group->members->node(rank)); });
  }
  const rank_set left = ranks_of(*group, ends.untold(group->id));
  if (left.empty()) co_return status{};
  co_return not_told(*group, left, told);
}

}  // namespace scoll::detail
