#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "scoll/coro/assert.hpp"
#include "transport/io/control_frame.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/link.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {

/// The memory of one frame of a greeting.
class greeting_room {
 public:
  /// Returns the frame, which lies here. `said` must fit in `max_control_payload_bytes`.
  template <class T>
  frame_parts encode(const frame_header& header, const T& said) noexcept {
    const auto size = wire::encode_to(payload_, said);
    SCOLL_ASSERT(size.has_value(), "a greeting exceeds its frame");
    return encode_control(head_, header, std::span(payload_).first(*size));
  }

 private:
  std::array<std::byte, frame_header_bytes> head_;
  std::array<std::byte, max_control_payload_bytes> payload_;
};

}  // namespace scoll::transport
