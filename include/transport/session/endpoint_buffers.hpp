#pragma once

#include <cstddef>

#include "transport/io/buffer.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/message.hpp"

namespace scoll::transport {

/// The memory in which an endpoint keeps messages and payloads. It grows to the most that was needed at once,
/// and keeps that. The endpoints of one thread may share it, so that what one of them does not need serves
/// the others. It must outlive them.
struct endpoint_buffers {
  static constexpr std::size_t small_payload_bytes = 512;

  /// `endpoints` is the number of endpoints that may share the buffers; the buffers' limits grow with it.
  explicit endpoint_buffers(std::size_t endpoints = 1)
      : payloads(max_payload_bytes, 4096 * endpoints),
        small_payloads(small_payload_bytes, 16384 * endpoints) {}

  message_pool messages;
  buffer_pool payloads;
  buffer_pool small_payloads;
};

}  // namespace scoll::transport
