#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "../../include/transport/message.hpp"
#include "../../include/transport/slab.hpp"
#include "../../include/transport/wire/checksum.hpp"

namespace scoll::transport {

/// Gives `m` a payload of `size` bytes that `copy(span)` writes: in the message if it is small, else in a
/// buffer, so that the memory it came from is free at once. False, with `m` as it was, if no buffer is left.
/// Sending from registered memory without the copy would begin here, with a loan that the region counts.
template <class Copy>
bool load_payload(slab_pool& buffers, message& m, std::size_t size, Copy&& copy) noexcept {
  if (size <= message::inline_payload_bytes) {
    std::array<std::byte, message::inline_payload_bytes> small;
    const auto bytes = std::span(small).first(size);
    copy(bytes);
    m.copy_payload(bytes, wire::checksum(bytes));
    return true;
  }
  slab_ref slab = buffers.try_acquire();
  if (!slab) return false;
  const std::span<std::byte> bytes(slab.data(), size);
  copy(bytes);
  m.share_payload({std::move(slab), bytes}, wire::checksum(bytes));
  return true;
}

}  // namespace scoll::transport
