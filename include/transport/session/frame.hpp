#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// The version of the protocol, sent in every hello. A peer with another version is refused.
inline constexpr std::uint16_t protocol_version = 4;

/// Limits of one frame, in bytes. The head holds the headers of the exchange and of the upper layer. The
/// payload is shared between receivers and has its own checksum.
inline constexpr std::size_t frame_header_bytes = 64;
inline constexpr std::size_t max_head_bytes = 512;
inline constexpr std::size_t max_payload_bytes = 32768;
inline constexpr std::size_t max_frame_bytes = frame_header_bytes + max_head_bytes + max_payload_bytes;
/// A payload of class bulk may be larger. If it exceeds `placed_payload_bytes`, it is written where it
/// belongs as it arrives, or dropped, so no buffer needs that size.
inline constexpr std::size_t max_bulk_payload_bytes = 1U << 20U;
inline constexpr std::size_t placed_payload_bytes = 8192;
/// The longest head of a notice, which has no payload.
inline constexpr std::size_t max_notice_head_bytes = 192;

enum class frame_type : std::uint8_t {
  hello = 1,             ///< the first frame, from the side that connected; names nobody
  welcome = 2,           ///< the answer to identity: the session continues or begins
  refuse = 3,            ///< the answer to hello or identity: an error, after which the link closes
  request = 4,           ///< not announced, so it costs a credit of its class
  reply = 5,             ///< announced, so it uses the capacity that its request reserved
  cancel = 6,            ///< the requester no longer waits
  acknowledge = 7,       ///< carries nothing but the header's counters
  goodbye = 8,           ///< the sender has drained and closes
  probe = 9,             ///< asks whether the peer is there; answered in the same turn
  probe_reply = 10,      ///< the answer to probe
  link_down = 11,        ///< the sender has cut another connection of the session; repeated until answered
  link_down_reply = 12,  ///< the answer: the other end of that connection is gone, too
  // 15 is reserved for sessions over several rails.
  identity = 13,   ///< follows hello: who speaks to whom
  secure = 14,     ///< a step of a security mode, between hello and identity
  notice = 16,     ///< a message of class urgent that is not answered; it costs a credit of that class
  introduce = 17,  ///< on the connection below a verbs link, each way: the queue pair of the speaker
};

/// Priority classes, most urgent first; each is first in, first out, and has its own credits.
enum class traffic_class : std::uint8_t { urgent = 0, collective = 1, call = 2, bulk = 3 };
inline constexpr std::size_t class_count = 4;

/// The two streams to a peer. With a separate stream for bulk, urgent messages need not wait behind bulk
/// bytes that are queued already.
enum class lane_id : std::uint8_t { control = 0, bulk = 1 };
inline constexpr std::size_t lane_count = 2;
constexpr lane_id lane_of(traffic_class c) noexcept {
  return c == traffic_class::bulk ? lane_id::bulk : lane_id::control;
}

/// The fixed start of every frame, little-endian on the wire (docs/wire.md): magic, type, class, head size,
/// payload size, header checksum, sequence, acknowledgement, four grants, payload checksum, head checksum.
/// The header has a checksum of its own, so that damaged sizes never make the receiver wait for bytes that do
/// not come.
struct frame_header {
  static constexpr std::uint32_t magic = 0x4c4f4353;  // "SCOL"

  frame_type type = frame_type::acknowledge;
  traffic_class klass = traffic_class::urgent;
  std::uint16_t head_bytes = 0;
  std::uint32_t payload_bytes = 0;
  /// Counts from 1, per lane and session; 0: the frame is not part of the sequence.
  std::uint64_t sequence = 0;
  /// All sequence numbers of the peer up to this one have arrived.
  std::uint64_t acknowledged = 0;
  /// The total of requests of each class that the peer may have sent.
  std::array<std::uint32_t, class_count> granted{};
  /// The XXH3 of the payload.
  std::uint64_t payload_checksum = 0;
  /// False, in class bulk only: the payload has no checksum.
  bool payload_checked = true;

  std::size_t frame_bytes() const noexcept { return frame_header_bytes + head_bytes + payload_bytes; }
};

/// Writes the header, its checksum and the checksum of the head into `frame`. The first `frame_header_bytes`
/// are overwritten; the head must already follow them.
void encode_frame_header(std::span<std::byte> frame, const frame_header& header) noexcept;

/// Reads the first `frame_header_bytes` of a frame and checks magic, checksum, type, class and sizes. Errors:
/// `malformed`, `checksum_mismatch`, `too_large` (whose text names size and limit).
result<frame_header> decode_frame_header(std::span<const std::byte, frame_header_bytes> bytes) noexcept;

/// True if the head is unaltered. `frame` holds an intact header and then the head.
bool frame_head_intact(std::span<const std::byte> frame, const frame_header& header) noexcept;

}  // namespace scoll::transport
