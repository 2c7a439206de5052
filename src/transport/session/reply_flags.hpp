#pragma once

#include <cstdint>

namespace scoll::transport {

/// The flags in the envelope of a reply (docs/wire.md).
namespace reply_flags {
inline constexpr std::uint16_t final = 1;
inline constexpr std::uint16_t may_have_effects = 2;
}  // namespace reply_flags

/// The kinds of cancels in their envelope. A receiver ignores the others.
namespace cancel_kinds {
inline constexpr std::uint16_t cancel = 0;
inline constexpr std::uint16_t abort = 1;
inline constexpr std::uint16_t more_parts = 2;  ///< no cancel: the requester allows more parts of the reply
}  // namespace cancel_kinds

}  // namespace scoll::transport
