#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::detail {

/// The most values that one reply may carry: 1 where every member serves the same version, more behind
/// relays. A reply with more values is malformed.
inline constexpr std::size_t max_values_per_reply = 4096;

/// The longest processing bound, in nanoseconds, that a child can ask for. It keeps a peer from making this
/// node wait for ever.
inline constexpr std::uint64_t longest_extension_ns = 24ULL * 3600 * 1'000'000'000;

/// The number of dropped groups that a node remembers, so that a creation which arrives late does not bring
/// one back.
inline constexpr std::size_t max_group_tombstones = 4096;

}  // namespace scoll::detail
