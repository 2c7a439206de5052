#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

/// Little-endian stores and loads at any address, usable in constant expressions. On a little-endian host
/// each is one move; elsewhere compilers recognise the loop as a byte swap.

namespace scoll::wire::detail {

template <std::size_t Size>
using unsigned_of =
    std::conditional_t<Size == 1, std::uint8_t,
                       std::conditional_t<Size == 2, std::uint16_t,
                                          std::conditional_t<Size == 4, std::uint32_t, std::uint64_t>>>;

template <std::unsigned_integral U>
constexpr void store_bytewise(std::byte* to, U value) noexcept {
  for (std::size_t i = 0; i < sizeof(U); ++i) {
    to[i] = static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i));
  }
}

template <std::unsigned_integral U>
constexpr U load_bytewise(const std::byte* from) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < sizeof(U); ++i) value |= std::to_integer<std::uint64_t>(from[i]) << (8 * i);
  return static_cast<U>(value);
}

template <std::unsigned_integral U>
constexpr void store_little(std::byte* to, U value) noexcept {
  if (std::is_constant_evaluated() || std::endian::native != std::endian::little) {
    store_bytewise(to, value);
  } else {
    std::memcpy(to, &value, sizeof value);
  }
}

template <std::unsigned_integral U>
constexpr U load_little(const std::byte* from) noexcept {
  if (std::is_constant_evaluated() || std::endian::native != std::endian::little) {
    return load_bytewise<U>(from);
  }
  U value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

/// Copies bytes out of or into arrays of one-byte elements. It also works in constant expressions, where
/// memcpy does not.
template <class To, class From>
  requires(sizeof(To) == 1 && sizeof(From) == 1)
constexpr void copy_bytes(To* to, const From* from, std::size_t count) noexcept {
  if (std::is_constant_evaluated()) {
    for (std::size_t i = 0; i < count; ++i) to[i] = static_cast<To>(from[i]);
  } else if (count != 0) {
    std::memcpy(to, from, count);
  }
}

}  // namespace scoll::wire::detail
