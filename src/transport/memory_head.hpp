#pragma once

#include <cstddef>
#include <cstdint>

#include "../../include/transport/frame.hpp"
#include "../../include/transport/message.hpp"

namespace scoll::transport {

enum class memory_operation : std::uint8_t { get = 1, put = 2 };

constexpr bool wire_valid(const memory_operation& operation) noexcept {
  return operation == memory_operation::get || operation == memory_operation::put;
}

/// The head of every request of class bulk, after the exchange's envelope (docs/wire.md): one segment of a
/// transfer.
struct memory_head {
  memory_operation operation = memory_operation::get;
  std::uint32_t region = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t generation = 0;
  std::uint64_t offset = 0;
  std::uint32_t length = 0;
};

inline constexpr std::size_t memory_head_bytes = 33;

/// How much one segment carries: two of its frames fill a batch of 64 KiB, where two full ones would not fit.
inline constexpr std::size_t segment_bytes = max_payload_bytes - 128;
static_assert(frame_header_bytes + message::envelope_bytes + memory_head_bytes + segment_bytes <=
              max_payload_bytes);

}  // namespace scoll::transport
