#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace scoll::wire {

/// The most vectors and self-describing structs that may enclose a value. A deeper value is refused when
/// encoding and malformed when decoding, so that a few hostile bytes cannot exhaust the stack.
inline constexpr std::size_t max_depth = 64;

/// The most vector elements without an encoded size (empty structs) in one message. Without this limit a few
/// bytes could ask for any number of them.
inline constexpr std::size_t max_weightless_elements = 65'536;

/// Lengths and counts are u32 on the wire.
inline constexpr std::size_t max_length = std::numeric_limits<std::uint32_t>::max();

/// The bytes of a length or count, and of the version and length before a versioned struct.
inline constexpr std::size_t length_size = 4;
inline constexpr std::size_t versioned_header_size = 6;

/// The value that stands for no upper limit of the encoded size.
inline constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

}  // namespace scoll::wire
