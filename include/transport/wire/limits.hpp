#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace scoll::wire {

/// How many vectors and self-describing structs may stand around a value. Deeper is refused when encoding and
/// malformed when decoding, so that a few hostile bytes cannot exhaust the stack.
inline constexpr std::size_t max_depth = 64;

/// How many vector elements of no encoded size (empty structs) one message may hold in all: no bytes pay for
/// them.
inline constexpr std::size_t max_weightless_elements = 65'536;

/// Lengths and counts are u32 on the wire.
inline constexpr std::size_t max_length = std::numeric_limits<std::uint32_t>::max();

/// Bytes of a length or count, and of the version and length before a versioned struct.
inline constexpr std::size_t length_size = 4;
inline constexpr std::size_t versioned_header_size = 6;

/// What has no upper limit to its encoded size.
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

}  // namespace scoll::wire
