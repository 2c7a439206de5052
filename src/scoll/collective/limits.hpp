#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// The most values that one reply may carry: 1 where every member serves the same version, more behind
/// relays. A reply with more values is malformed.
inline constexpr std::size_t max_values_per_reply = 4096;

/// The most bytes of a part of a reply that tells of losses alone, and the least that are set aside for a part.
inline constexpr std::size_t max_part_bytes = 4096;

/// The most bytes of the trace in one reply. It takes what the account and the values leave of their room.
inline constexpr std::size_t trace_limit = 8192;

/// The longest processing bound, in nanoseconds, that a child can ask for. It keeps a peer from making this
/// node wait for ever.
inline constexpr std::uint64_t longest_extension_ns = 24ULL * 3600 * 1'000'000'000;

/// The number of groups of one creator's life that have ended and whose creation may still arrive, as far as
/// a node remembers them. Further creations of that life are `busy` until the creator's next statement.
inline constexpr std::size_t max_tombstones_of_life = 1024;

/// The size, in bytes, of the ranges in one question about groups, and in its answer.
inline constexpr std::size_t max_sweep_bytes = 3584;

/// The number of ended groups that a node remembers of those that outlive their creator or have none.
inline constexpr std::size_t max_other_tombstones = 4096;

/// The number of groups that a node remembers of those that it has proposed in shrinks whose outcome it did
/// not hear.
inline constexpr std::size_t max_groups_out_of_sight = 1024;

/// The number of groups that a node can be ending at once: those whose members it is telling, and those of
/// which some members could not be told so far. The members of a further one are not told in the background;
/// they ask.
inline constexpr std::size_t max_ending_groups = 1024;

/// The number of operations that create and end groups beyond `node_options::max_operations`, so that a table
/// full of broadcasts keeps no group from ending.
inline constexpr std::size_t extra_group_operations = 16;

/// The number of out-of-band groups, named by the `members` hooks of services, that a node holds at once.
inline constexpr std::size_t max_mapped_groups = 1024;

/// The number of replay windows that a node keeps of out-of-band groups that it does not hold any more.
inline constexpr std::size_t max_kept_windows = 4096;

/// The most bytes of an encoded membership that is pulled from a parent, and of all that a node pulls at
/// once.
inline constexpr std::size_t max_pulled_membership_bytes = std::size_t{16} << 20;
inline constexpr std::size_t max_pulled_membership_bytes_at_once = 4 * max_pulled_membership_bytes;

/// The time for which the members of a group stay exposed to a node that has asked for them, and the number
/// of groups whose members are exposed for that at once.
inline constexpr nanoseconds offer_time = std::chrono::seconds(10);
inline constexpr std::size_t max_offers_to_questions = 64;

/// The number of requests of one member to read bulk data that wait for their broadcast.
inline constexpr std::size_t max_early_readers_of_member = 8;

/// The number of groups of whose revoke a node has heard before it knows their members.
inline constexpr std::size_t max_unknown_revokes = 1024;

/// The number of notices to one member that wait for its link. Further ones wait beside them, so that a
/// member that stands still leaves the others room among the notices of this node.
inline constexpr std::size_t max_notices_of_member = 256;

/// The number of groups that have ended here while notices about them are still to be sent or on their way.
/// Beyond it, a group that ends sends no further notices; `destroy` and the sweeps tell its members.
inline constexpr std::size_t max_leaving_revokes = 1024;

}  // namespace scoll::detail
