#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "tests/transport/session/worlds.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/frame.hpp"
#include "transport/wire/checksum.hpp"

namespace network {

/// The head of every message in these tests; the payload is derived from the number.
struct ask {
  std::uint64_t number = 0;
  std::uint32_t reply_bytes = 0;
  std::uint32_t parts = 1;
};
inline constexpr std::size_t ask_bytes = 16;

inline std::byte pattern(std::uint64_t number, std::size_t i) {
  return static_cast<std::byte>(number * 7 + i * 13 + (i >> 8));
}

inline bool fits(std::uint64_t number, std::span<const std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] != pattern(number, i)) return false;
  }
  return true;
}

inline message& compose(endpoint& e, const ask& a, std::size_t payload_bytes) {
  message& m = e.acquire_message();
  std::memcpy(m.head_space().data(), &a, sizeof a);
  m.set_head_bytes(sizeof a);
  static_assert(sizeof a == ask_bytes);
  std::array<std::byte, message::inline_payload_bytes> small;
  buffer_ref buffer;
  std::byte* at = small.data();
  if (payload_bytes > small.size()) {
    buffer = e.acquire_payload();
    REQUIRE(buffer);
    at = buffer.data();
  }
  for (std::size_t i = 0; i < payload_bytes; ++i) at[i] = pattern(a.number, i);
  const std::span<const std::byte> bytes(at, payload_bytes);
  if (buffer) {
    m.share_payload({buffer, bytes}, wire::checksum(bytes));
  } else {
    m.copy_payload(bytes, wire::checksum(bytes));
  }
  return m;
}

/// A frame as bytes; `alter` may change the header first.
inline std::vector<std::byte> frame_of(frame_header h, std::span<const std::byte> head = {},
                                       std::span<const std::byte> payload = {}) {
  std::vector<std::byte> bytes(frame_header_bytes + head.size() + payload.size());
  h.head_bytes = static_cast<std::uint16_t>(head.size());
  h.payload_bytes = static_cast<std::uint32_t>(payload.size());
  h.payload_checksum = wire::checksum(payload);
  std::copy(head.begin(), head.end(), bytes.begin() + frame_header_bytes);
  std::copy(payload.begin(), payload.end(),
            bytes.begin() + static_cast<std::ptrdiff_t>(frame_header_bytes + head.size()));
  encode_frame_header(bytes, h);
  return bytes;
}

inline std::vector<std::byte> operator+(std::vector<std::byte> a, const std::vector<std::byte>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

}  // namespace network
