#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "transport/io/buffer.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/session/message.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

/// Gives `m` the payload in `from`. A large payload is lent. A small one is copied into the message or a
/// buffer, so that it can share a batch. `checked` asks for a checksum; small payloads always have one.
/// False, with `m` unchanged, if no buffer is left.
inline bool load_payload(buffer_pool& buffers, message& m, const lent_range& from, bool checked) noexcept {
  if (from.size > placed_payload_bytes) {
    m.lend_payload(from, checked);
    return true;
  }
  if (from.size <= message::inline_payload_bytes) {
    std::array<std::byte, message::inline_payload_bytes> small;
    const auto bytes = std::span(small).first(from.size);
    from.memory->copy_out(from.offset, bytes);
    m.copy_payload(bytes, wire::checksum(bytes));
    return true;
  }
  buffer_ref buffer = buffers.try_acquire();
  if (!buffer) return false;
  const std::span<std::byte> bytes(buffer.data(), from.size);
  from.memory->copy_out(from.offset, bytes);
  m.share_payload({std::move(buffer), bytes}, wire::checksum(bytes));
  return true;
}

}  // namespace scoll::transport
