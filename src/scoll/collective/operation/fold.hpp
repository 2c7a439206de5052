#pragma once

#include "scoll/collective/outcome.hpp"
#include "scoll/collective/outcome_builder.hpp"

namespace scoll::detail {

/// The state of one member, with its cause.
struct settled_member {
  member_state state = member_state::unknown;
  cause why;
  bool by_itself = false;  ///< the member itself has noticed the cause: it speaks of all rounds
  friend bool operator==(const settled_member&, const settled_member&) = default;
};

/// The state of a member that one round has settled as `earlier` and a later one as `later`. Merged and executed
/// stay. Unknown stays unless the member has executed, or says itself that it has failed: that a request was
/// refused, or did not reach it, says nothing of one before. If it stays, and the member itself says why the later
/// round does not know more, that is its cause.
settled_member fold(const settled_member& earlier, const settled_member& later);

/// True if a further round may still bring the member to execute, or to be merged. The states of the others are
/// final.
bool is_open(const settled_member& m);

/// Folds the account of a later round into the one so far, for the members that it speaks of. Both speak of
/// relative ranks of one tree. Members that are not in `account` are not added.
void fold_into(outcome_builder& account, const outcome_builder& later);

}  // namespace scoll::detail
