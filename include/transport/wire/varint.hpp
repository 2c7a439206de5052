#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "transport/wire/reader.hpp"
#include "transport/wire/writer.hpp"

namespace scoll::wire {

/// An unsigned integer that takes 1 to 10 bytes of seven bits each, lowest first; the top bit is set on all
/// but the last byte (LEB128). Only the shortest form is accepted, so that equal values have equal bytes.
struct varint {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const varint&, const varint&) = default;
};

inline constexpr std::size_t max_varint_size = 10;

constexpr std::size_t varint_size(std::uint64_t value) noexcept {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

constexpr void put_varint(writer& out, std::uint64_t value) noexcept {
  const std::size_t size = varint_size(value);
  std::byte* to = out.claim(size);
  if (to == nullptr) return;
  for (std::size_t i = 0; i + 1 < size; ++i, value >>= 7) to[i] = static_cast<std::byte>(value | 0x80);
  to[size - 1] = static_cast<std::byte>(value);
}

/// Reads a varint; 0 after a defect.
constexpr std::uint64_t take_varint(reader& in) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < max_varint_size; ++i) {
    const std::byte* from = in.take(1, "varint");
    if (from == nullptr) return 0;
    const auto byte = std::to_integer<std::uint64_t>(*from);
    const bool too_long = (byte == 0 && i != 0) || (i == max_varint_size - 1 && byte > 1);
    if (too_long) {
      in.fail(defect::bad_value, "last byte of a varint", byte, from);
      return 0;
    }
    value |= (byte & 0x7f) << (7 * i);
    if (byte < 0x80) return value;
  }
  return value;
}

}  // namespace scoll::wire
