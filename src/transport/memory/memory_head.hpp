#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::transport {

/// A checked get asks for a payload with a checksum.
enum class memory_order_kind : std::uint8_t { get = 1, put = 2, checked_get = 3 };

constexpr bool wire_valid(const memory_order_kind& operation) noexcept {
  return operation >= memory_order_kind::get && operation <= memory_order_kind::checked_get;
}
constexpr bool is_get(memory_order_kind operation) noexcept {
  return operation != memory_order_kind::put;
}

/// The head of every request of class bulk, after the exchange's envelope (docs/wire.md): one segment of a
/// transfer.
struct memory_head {
  memory_order_kind operation = memory_order_kind::get;
  std::uint32_t region = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

inline constexpr std::size_t memory_head_bytes = 33;

}  // namespace scoll::transport
