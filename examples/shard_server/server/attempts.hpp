#pragma once

#include "answer.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/rank_set.hpp"

namespace shard {

/// The members that may not have got a request, although nothing is wrong with them: they are worth asking once
/// more.
scoll::rank_set lost_members(const scoll::outcome& outcome);

/// Makes one outcome of two broadcasts to members of one group. What the second says about a member counts,
/// unless the member was not addressed then, or the first had been merged with it.
scoll::outcome join_outcomes(const scoll::outcome& first, const scoll::outcome& second);

}  // namespace shard
