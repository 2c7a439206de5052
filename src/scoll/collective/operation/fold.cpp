#include "scoll/collective/operation/fold.hpp"

#include <algorithm>
#include <vector>

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {
namespace {

settled_member first_of(const outcome_builder& account, const member_report& run) {
  const cause& why = account.causes()[run.cause_index];
  return {run.state, why, run.members.size() == 1 && why.reporter == run.members.first};
}

}  // namespace

settled_member fold(const settled_member& earlier, const settled_member& later) {
  if (earlier.state == member_state::merged || later.state == member_state::merged) {
    return {member_state::merged, {}, false};
  }
  if (earlier.state == member_state::executed) return earlier;
  const bool says_nothing = later.state == member_state::not_reached ||
                            later.state == member_state::unknown ||
                            (later.state == member_state::failed && !later.by_itself);
  const bool forgets =
      SCOLL_MUTANT(unknown_becomes_not_reached,
                   "a member that may have executed is not reached because a later round did not");
  const bool speaks = later.state == member_state::unknown && later.by_itself;
  if (earlier.state == member_state::unknown && says_nothing && !speaks && !forgets) return earlier;
  if (earlier.state == member_state::failed && later.state == member_state::not_reached) return earlier;
  return later;
}

bool is_open(const settled_member& m) {
  switch (m.state) {
    case member_state::not_reached: return true;
    case member_state::unknown: return m.why.what != errc::record_gone;
    case member_state::failed: return m.why.where == phase::admission && m.why.what == errc::busy;
    default: return false;
  }
}

void fold_into(outcome_builder& account, const outcome_builder& later) {
  account.normalise();
  std::vector<member_report> spoken(later.runs().begin(), later.runs().end());
  std::ranges::sort(spoken, {}, [](const member_report& r) { return r.members.first; });
  outcome_builder folded;
  const auto add = [&](rank_range members, const settled_member& m) {
    const bool merged = m.state == member_state::merged;
    folded.add(members, m.state, merged ? std::uint16_t{0} : folded.add_cause(m.why));
  };
  auto next = spoken.begin();
  for (const member_report& run : account.runs()) {
    const settled_member before = first_of(account, run);
    for (std::uint32_t first = run.members.first; first != run.members.last;) {
      while (next != spoken.end() && next->members.last <= first) ++next;
      const bool none = next == spoken.end() || next->members.first >= run.members.last;
      const std::uint32_t begins = none ? run.members.last : std::max(first, next->members.first);
      if (begins != first) {
        add({first, begins}, before);
        first = begins;
        continue;
      }
      const std::uint32_t last = std::min(run.members.last, next->members.last);
      add({first, last}, fold(before, first_of(later, *next)));
      first = last;
    }
  }
  folded.normalise();
  account = std::move(folded);
}

}  // namespace scoll::detail
