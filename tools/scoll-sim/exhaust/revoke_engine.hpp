#pragma once

#include <cstdint>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Revokes a group of real nodes, from 2 to `most_members`, in which one or two members die in the middle of
/// it: after each number of notices that they send. As many as the graph bears are dead at most. If one
/// survivor hears, all must, and all broadcasts that survivors have begun in the group must have ended as revoked.
exhausted kill_at_each_notice(std::uint32_t most_members, std::uint32_t most_deaths);

/// Revokes a group that only some of its members hold, for every such set: all that hold it must hear,
/// although the members between them do not know the group. It also revokes a group of `most_for_two`
/// members, at most 31, that only two of them hold, for every such pair with rank 0.
exhausted revoke_unknown_groups(std::uint32_t most_members, std::uint32_t most_for_two);

/// Revokes a group while each member has more calls to the others than these take at a time: all must hear at
/// once, because notices wait for no credit of calls.
exhausted revoke_beside_calls(std::uint32_t most_members);

}  // namespace scoll::sim
