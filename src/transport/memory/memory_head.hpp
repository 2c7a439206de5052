#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scoll::transport {

/// A checked get asks for a payload with a checksum. A get of a piece waits until the piece is there. The bytes
/// of a put by read are not in the request: the owner of the region reads them. A get in messages is not
/// answered with a right.
enum class memory_order_kind : std::uint8_t {
  get = 1,
  put = 2,
  checked_get = 3,
  piece_get = 4,
  put_by_read = 5,
  get_in_messages = 6,
  checked_get_in_messages = 7,
};

constexpr bool wire_valid(const memory_order_kind& operation) noexcept {
  return operation >= memory_order_kind::get && operation <= memory_order_kind::checked_get_in_messages;
}
constexpr bool is_get(memory_order_kind operation) noexcept {
  return operation != memory_order_kind::put && operation != memory_order_kind::put_by_read;
}

constexpr bool is_checked(memory_order_kind operation) noexcept {
  return operation == memory_order_kind::checked_get ||
         operation == memory_order_kind::checked_get_in_messages;
}
constexpr bool may_be_read(memory_order_kind operation) noexcept {
  return operation == memory_order_kind::get || operation == memory_order_kind::checked_get;
}
constexpr memory_order_kind in_messages(memory_order_kind get) noexcept {
  return is_checked(get) ? memory_order_kind::checked_get_in_messages : memory_order_kind::get_in_messages;
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

/// The head of an order for a piece. Its segment is exactly one piece of the region.
struct piece_head {
  static constexpr std::uint8_t up = 1;  ///< the requester has lost the source that it should have used

  memory_head segment;
  std::uint8_t flags = 0;
};

inline constexpr std::size_t piece_head_bytes = memory_head_bytes + 1;

/// True if a request's head is that of an order for a piece, as far as its first byte tells.
constexpr bool orders_piece(std::span<const std::byte> head) noexcept {
  return !head.empty() && head.front() == static_cast<std::byte>(memory_order_kind::piece_get);
}

}  // namespace scoll::transport
