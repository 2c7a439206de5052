#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/error.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/link.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

inline constexpr std::size_t max_control_payload_bytes = 2048;

/// The protocol version: the first field of `hello`, `identity` and `welcome` in every version. 0 if it is
/// missing.
inline std::uint16_t spoken_version(std::span<const std::byte> payload) noexcept {
  return payload.size() < 2 ? std::uint16_t{0} : wire::detail::load_little<std::uint16_t>(payload.data());
}

/// Makes an error whose text may hold what a peer sent, for status pages: only printable characters are kept.
inline error printable(errc code, std::string_view text) noexcept {
  std::array<char, 2 * error::text_capacity> safe;
  const std::size_t size = std::min(text.size(), safe.size());
  std::transform(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(size), safe.begin(),
                 [](char c) { return c >= ' ' && c <= '~' ? c : '?'; });
  return {code, {safe.data(), size}};
}

/// Fills `head` with the header of an unsequenced frame.
inline frame_parts encode_control(std::span<std::byte, frame_header_bytes> head, frame_header header,
                                  std::span<const std::byte> payload) noexcept {
  header.head_bytes = 0;
  header.payload_bytes = static_cast<std::uint32_t>(payload.size());
  header.payload_checksum = wire::checksum(payload);
  encode_frame_header(head, header);
  return {head, payload};
}

/// Writes one unsequenced frame with a small payload to a writable link.
inline void write_control(link& l, const frame_header& header,
                          std::span<const std::byte> payload = {}) noexcept {
  std::byte head[frame_header_bytes];
  const frame_parts parts = encode_control(head, header, payload);
  l.write({&parts, 1});
}

/// The memory of an unsequenced frame with a payload of at most 24 bytes, for a batch of frames.
class control_frame {
 public:
  // It is not initialised, because most batches have none. NOLINTNEXTLINE(modernize-use-equals-default)
  control_frame() noexcept {}

  /// Returns the frame, which lies here.
  frame_parts encode(const frame_header& header, std::span<const std::byte> payload) noexcept {
    SCOLL_ASSERT(payload.size() <= sizeof payload_, "the payload of a control frame in a batch is short");
    std::copy(payload.begin(), payload.end(), payload_);
    return encode_control(head_, header, std::span(payload_).first(payload.size()));
  }

 private:
  std::byte head_[frame_header_bytes];
  std::byte payload_[24];
};

}  // namespace scoll::transport
