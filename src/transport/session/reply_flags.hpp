#pragma once

#include <cstdint>

namespace scoll::transport {

/// The flags in the envelope of a reply (docs/wire.md).
namespace reply_flags {
inline constexpr std::uint16_t final = 1;
inline constexpr std::uint16_t may_have_effects = 2;
}  // namespace reply_flags

}  // namespace scoll::transport
