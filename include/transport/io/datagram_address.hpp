#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <type_traits>

#include "scoll/coro/assert.hpp"

namespace scoll::transport {

/// The source or destination of a datagram: a small value that can be compared, ordered and hashed, and that
/// only a port can read and print (`datagram_port::parse`, `print`). Equal addresses are equal values. A
/// default-constructed address is empty.
class datagram_address {
 public:
  static constexpr std::size_t capacity = 28;  ///< in bytes: the size of an IPv6 socket address

  constexpr datagram_address() noexcept = default;
  /// Makes an address from the one spelling that its transport has for it, at most `capacity` bytes. For
  /// implementations of ports.
  static datagram_address of(std::span<const std::byte> bytes) noexcept {
    SCOLL_ASSERT(bytes.size() <= capacity, "an address is too long for a datagram_address");
    datagram_address made;
    made.size_ = static_cast<std::uint8_t>(bytes.size());
    if (!bytes.empty()) std::memcpy(made.bytes_.data(), bytes.data(), bytes.size());
    return made;
  }

  constexpr bool empty() const noexcept { return size_ == 0; }
  std::span<const std::byte> bytes() const noexcept { return {bytes_.data(), size_}; }

  friend constexpr auto operator<=>(const datagram_address&, const datagram_address&) noexcept = default;

 private:
  std::array<std::byte, capacity> bytes_{};
  std::uint8_t size_ = 0;
};

static_assert(std::is_trivially_copyable_v<datagram_address>);

}  // namespace scoll::transport

template <>
struct std::hash<scoll::transport::datagram_address> {
  std::size_t operator()(const scoll::transport::datagram_address& address) const noexcept {
    std::uint64_t value = 0xcbf29ce484222325;  // FNV-1a
    for (const std::byte b : address.bytes())
      value = (value ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
    return static_cast<std::size_t>(value);
  }
};
