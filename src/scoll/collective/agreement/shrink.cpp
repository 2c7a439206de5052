#include <algorithm>
#include <utility>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"

// A shrink is an agreement without values. Its outcome names the group of the members that are in it.
namespace scoll::detail {
namespace {

/// The members outside `failed`, in their old order. Null if nobody is left.
membership_ptr survivors_of(const group_state& group, const rank_set& failed) {
  std::vector<target> left;
  left.reserve(group.members->size() - failed.size());
  const rank_set ranks = rank_set::all(group.members->size()) - failed;
  ranks.for_each([&](std::uint32_t rank) { left.push_back(group.members->targets()[rank]); });
  auto made = membership::make(std::move(left));
  return made ? std::move(*made) : nullptr;
}

/// The id of the group that a proposal creates; its value has the size of a digest.
group_id shrunk_id(const proposal& p) {
  group_id id{p.creator, p.incarnation, p.counter, {}};
  std::copy_n(p.value.begin(), std::min(p.value.size(), id.digest.size()), id.digest.begin());
  return id;
}

}  // namespace

/// False for a proposal that no proposer of this group can have made.
bool engine::agreements::makes_sense(const group_state& group, agreement_space space, const proposal& what) {
  if (!(what.failed - rank_set::all(group.members->size())).empty()) return false;
  if (space == agreement_space::agree) return what.creator == 0;
  const membership_ptr left = survivors_of(group, what.failed);
  return left != nullptr && what.value.size() == sizeof(membership_digest) && left->rank_of(what.creator) &&
         left->digest() == shrunk_id(what).digest;
}

task<result<std::shared_ptr<group_state>>> engine::agreements::shrink(addressees to, agree_options options) {
  if (const error why = why_not(to, options)) co_return why;
  const std::shared_ptr<group_state> group = to.group;
  const result<instance_ptr> entered = enter(*group, agreement_space::shrink, 0, {}, &merge_nothing, options);
  if (!entered) co_return entered.error();
  const agreed_bytes outcome = co_await take_part(group, *entered, options);
  if (!outcome.why) co_return outcome.why.error();
  auto shrunk = owner_.find_group(shrunk_id((*entered)->votes.decision()));
  if (shrunk == nullptr)
    co_return error(errc::unknown_group, "the group of the survivors has been destroyed");
  co_return shrunk;
}

/// Gives the proposal of this node the id of a new group. Its creation is under way until the shrink is over.
void engine::agreements::name_shrunk(const group_state& group, agreement_instance& i) {
  const std::uint64_t counter = owner_.creations_.begin();
  i.taken.push_back(counter);
  const membership_ptr left = survivors_of(group, i.proposer->proposed().failed);
  i.proposer->name_group(owner_.options_.id, owner_.options_.incarnation, counter, left->digest());
}

bool engine::agreements::is_own(const proposal& decided) const noexcept {
  return decided.creator == owner_.options_.id && decided.incarnation == owner_.options_.incarnation;
}

/// Ends the creations of the groups that this node has proposed, except for the one with the counter `kept`:
/// these groups will never exist, or all members hold them.
void engine::agreements::settle(agreement_instance& i, std::uint64_t kept) {
  for (const std::uint64_t counter : i.taken) {
    if (counter != kept) owner_.creations_.settle(counter);
  }
  std::erase_if(i.taken, [kept](std::uint64_t counter) { return counter != kept; });
}

/// Only the latest vote counts: if an earlier one was decided, this one is for the same group.
void engine::agreements::note_vote(const group_state& group, const agreement_instance& i) {
  if (i.decided()) return;
  std::erase_if(voted_, [&](const auto& vote) { return vote.second == group.id; });
  voted_.emplace(shrunk_id(i.votes.accepted().what), group.id);
  if (SCOLL_MUTANT(shrink_before_decided, "a member holds a shrunk group as soon as it has voted for it"))
    hold_shrunk(group, i.votes.accepted().what);
}

bool engine::agreements::hold_voted(const group_id& id) {
  const auto vote = voted_.find(id);
  if (vote == voted_.end()) return false;
  const auto group = owner_.groups_.find(vote->second);
  if (group == nullptr || group->agreements == nullptr || group->agreements->shrink == nullptr) return false;
  agreement_instance& i = *group->agreements->shrink;
  learn(*group, i, proposal(i.votes.accepted().what));
  return owner_.groups_.find(id) != nullptr;
}

/// Makes the group known here, unless this node is not in it or the group is gone.
void engine::agreements::hold_shrunk(const group_state& group, const proposal& decided) {
  std::erase_if(voted_, [&](const auto& vote) { return vote.second == group.id; });
  if (decided.failed.contains(group.self_rank)) return;
  const group_id id = shrunk_id(decided);
  const bool known = owner_.groups_.find(id) != nullptr;
  const auto made = owner_.groups_.hold_shrunk(group, id, survivors_of(group, decided.failed));
  if (made == nullptr) return;
  owner_.sweeper_->watch(*made);
  if (!known) owner_.journal_->group_created(*made);
  owner_.revokes_->held(made);
}

bool engine::agreements::owes_shrink(const group_state& group) const noexcept {
  if (group.agreements == nullptr || group.agreements->shrink == nullptr) return false;
  const agreement_instance& i = *group.agreements->shrink;
  return i.decided() && !i.told && group.members->size() > 1;
}

task<void> engine::agreements::tell_shrink(std::shared_ptr<group_state> group) {
  const instance_ptr i = group->agreements->shrink;
  const rank_set others = rank_set::all(group->members->size()) - rank_set{group->self_rank};
  const rank_set heard = co_await tell(group, i, others - dead_in(*group), false);
  i->told = (others - heard - i->votes.decision().failed).empty();
}

}  // namespace scoll::detail
