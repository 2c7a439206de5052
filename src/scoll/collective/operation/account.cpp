#include <algorithm>
#include <vector>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/mutants.hpp"

// The account of the members' states. Members enter it by relative rank and leave it by rank in the group.
namespace scoll::detail {

std::uint16_t operation::note(phase where, const error& what) {
  return outcome_.add_cause({where, what, subject_.relative});
}

void operation::collect_ranges(const child& c, std::vector<rank_range>& into) const {
  visit_unsettled(subject_, c,
                  [&](std::uint32_t first, std::uint32_t last) { into.push_back({first, last}); });
  std::sort(into.begin(), into.end(), [](rank_range a, rank_range b) { return a.first < b.first; });
}

void operation::mark_self(member_state state, std::uint16_t cause_index) {
  outcome_.add({subject_.relative, subject_.relative + 1}, state, cause_index);
}

/// Enters the members of a child's subtree that no part of its answer has settled.
void operation::mark_subtree(const child& c, member_state state, std::uint16_t cause_index) {
  visit_unsettled(subject_, c, [&](std::uint32_t first, std::uint32_t last) {
    outcome_.add({first, last}, state, cause_index);
  });
}

void operation::mark_below(const child& c, member_state state, std::uint16_t cause_index) {
  subject_.tree.subtree_ranges(subject_.members, c.relative, [&](std::uint32_t first, std::uint32_t last) {
    if (c.relative < first || c.relative >= last) return outcome_.add({first, last}, state, cause_index);
    outcome_.add({first, c.relative}, state, cause_index);
    outcome_.add({c.relative + 1, last}, state, cause_index);
  });
}

/// Accounts for the subtree of a child whose exchange ended without an answer. A child that refused has not
/// executed, and the members below it were not told. A subtree that was never reached has not executed
/// either. Anything else is unknown, and so is what is left of a subtree that has answered in part: that
/// child has not refused, whatever it says.
void operation::mark_lost(child& c) {
  const std::uint16_t index = note(c.refused ? phase::admission : phase::delivery, c.reason);
  if (SCOLL_MUTANT(forgotten_subtree, "the subtree of a lost child is left out of the account"))
    return outcome_.add({c.relative, c.relative + 1}, member_state::unknown, index);
  if (c.refused && !c.has_settled_some()) {
    // A refusal is certain, unless the member says that it cannot know what it did before.
    const bool unknown = c.reason == errc::record_gone;
    outcome_.add({c.relative, c.relative + 1}, unknown ? member_state::unknown : member_state::failed, index);
    return mark_below(c, member_state::not_reached, index);
  }
  const bool reached =
      (c.reached || c.has_settled_some()) &&
      !SCOLL_MUTANT(unknown_as_not_reached, "a child that had the request is reported as not reached");
  mark_subtree(c, reached ? member_state::unknown : member_state::not_reached, index);
}

void operation::lose_subtree_value(child& c, std::size_t mark, std::uint16_t index) {
  if (c.clean) {
    c.clean = false;
    mark_subtree(c, member_state::executed, index);
  }
  outcome_.lose_merged(index, mark);
}

bool operation::has_merged(const child& c, std::size_t mark) const {
  return c.clean || std::ranges::any_of(outcome_.runs().subspan(mark), [](const member_report& r) {
           return r.state == member_state::merged;
         });
}

error operation::first_reason(const child& c, std::size_t mark) const {
  if (c.lost && c.at == child::stage::settled) return c.reason;  // not in a part that came before
  for (const member_report& run : outcome_.runs().subspan(mark)) {
    if (run.state != member_state::merged) return outcome_.causes()[run.cause_index].what;
  }
  return {};
}

/// Gives up the merged value: the members merged in it are known to have executed, and nothing more.
void operation::lose_reply(const error& why) {
  const std::uint16_t index = note(phase::reply, why);
  for (child& c : children_.all()) {
    if (!c.clean || SCOLL_MUTANT(lost_reply_forgotten, "a lost reply loses this member's part only"))
      continue;
    c.clean = false;
    mark_subtree(c, member_state::executed, index);
  }
  outcome_.lose_merged(index, 0);
  values_.drop_merged();
  values_.opaque.clear();
}

/// True if all members are merged that no part has settled, and there are some. Those below a clean child are
/// in no run.
bool operation::all_clean() const noexcept {
  const auto is_clean = [](const child& c) { return c.clean; };
  const bool all_children = std::ranges::all_of(children_.all(), is_clean);
  if (all_children && SCOLL_MUTANT(clean_flag_wrong, "a member is clean though it failed itself"))
    return true;
  const auto runs = outcome_.runs();
  const bool any = !runs.empty() || std::ranges::any_of(children_.all(), is_clean);
  return any &&
         std::ranges::all_of(runs, [](const member_report& r) { return r.state == member_state::merged; });
}

/// The outcome that an account of all members, by relative rank, stands for.
outcome operation::outcome_of(const outcome_builder& account) const {
  const operation_subject& s = subject_;
  const std::uint32_t n = s.group->members->size();
  outcome_builder by_rank;
  for (const member_report& run : account.runs()) {
    s.visit_ranks(run.members, [&](std::uint32_t first, std::uint32_t last) {
      by_rank.add({first, last}, run.state, run.cause_index);
    });
  }
  if (s.subset != nullptr) {
    const rank_set excluded = rank_set::all(n) - s.subset->ranks();
    for (const rank_range& r : excluded.ranges()) by_rank.add(r, member_state::excluded);
  }
  by_rank.normalise();
  std::vector<cause> causes(account.causes().begin(), account.causes().end());
  for (cause& c : causes) c.reporter = c.reporter < s.members ? s.rank_at(c.reporter) : s.head.root_rank;
  outcome made(n, {by_rank.runs().begin(), by_rank.runs().end()}, std::move(causes));
  made.set_dissent(result_.dissenters);
  return made;
}

/// The outcome while members are awaited, who are pending.
outcome operation::outcome_so_far() const {
  outcome_builder account = outcome_;
  for (const child& c : children_.all()) {
    if (c.at == child::stage::settled && !c.clean) continue;
    const member_state state = c.clean ? member_state::merged : member_state::pending;
    visit_unsettled(subject_, c,
                    [&](std::uint32_t first, std::uint32_t last) { account.add({first, last}, state); });
  }
  if (!own_.settled) account.add({subject_.relative, subject_.relative + 1}, member_state::pending);
  return outcome_of(account);
}

/// The outcome at the end.
outcome operation::final_outcome() const {
  if (!result_.clean) return outcome_of(outcome_);
  if (subject_.subset != nullptr) {
    outcome_builder account;
    account.add({0, subject_.members}, member_state::merged);
    return outcome_of(account);
  }
  outcome clean(subject_.group->members->size());
  clean.set_dissent(result_.dissenters);
  return clean;
}

outcome operation::take_outcome() const {
  return result_given() ? root_.condition->given_account() : final_outcome();
}

}  // namespace scoll::detail
