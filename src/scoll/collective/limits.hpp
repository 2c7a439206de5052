#pragma once

#include <cstddef>

/// Limits of collectives that are neither options nor public.
namespace scoll::detail::limits {

/// Ended groups whose ids a node remembers, so that a creation that arrives late does not bring one back to
/// life. The oldest is forgotten first.
inline constexpr std::size_t remembered_groups = 4096;

/// Values that one reply may carry: a member that serves another version passes those of its subtree on
/// unmerged. A reply that announces more is `malformed`.
inline constexpr std::size_t values_per_reply = 4096;

}  // namespace scoll::detail::limits
