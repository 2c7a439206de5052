#include "transport/session/frame.hpp"

#include <array>
#include <cstring>

#include "scoll/coro/error_format.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {

using wire::detail::load_little;
using wire::detail::store_little;

namespace {

constexpr std::size_t header_checksum_offset = 12;
constexpr std::size_t head_checksum_offset = 56;
// A flag in the byte of the class.
constexpr std::uint8_t unchecked_flag = 0x80;

/// The checksum of all fields before the head checksum, with zero in its own place.
std::uint32_t header_checksum(std::span<const std::byte> frame) noexcept {
  std::array<std::byte, head_checksum_offset> fields;
  std::memcpy(fields.data(), frame.data(), fields.size());
  store_little(fields.data() + header_checksum_offset, std::uint32_t{0});
  return static_cast<std::uint32_t>(wire::checksum(fields));
}

/// Its seed is the header's checksum, so that a head fits its own header only.
std::uint64_t head_checksum(std::span<const std::byte> frame, std::size_t head_bytes) noexcept {
  const auto seed = load_little<std::uint32_t>(frame.data() + header_checksum_offset);
  return wire::checksum(frame.subspan(frame_header_bytes, head_bytes), seed);
}

constexpr bool is_known(std::uint8_t type) noexcept {
  constexpr auto last_in_a_row = static_cast<std::uint8_t>(frame_type::link_down_reply);
  if (type != 0 && type <= last_in_a_row) return true;
  const auto named = static_cast<frame_type>(type);
  return named == frame_type::identity || named == frame_type::secure || named == frame_type::notice ||
         named == frame_type::introduce;
}

status check_notice(const frame_header& header) noexcept {
  if (header.klass != traffic_class::urgent) {
    return make_error(errc::malformed, "frame: a notice of class {}", static_cast<int>(header.klass));
  }
  if (header.payload_bytes != 0) {
    return make_error(errc::malformed, "frame: a notice with a payload of {} bytes", header.payload_bytes);
  }
  if (header.head_bytes > max_notice_head_bytes) {
    return make_error(errc::too_large, "frame: a notice with a head of {} bytes, limit {}", header.head_bytes,
                      max_notice_head_bytes);
  }
  return {};
}

}  // namespace

void encode_frame_header(std::span<std::byte> frame, const frame_header& header) noexcept {
  std::byte* at = frame.data();
  store_little(at, frame_header::magic);
  store_little(at + 4, static_cast<std::uint8_t>(header.type));
  store_little(at + 5, static_cast<std::uint8_t>(static_cast<std::uint8_t>(header.klass) |
                                                 (header.payload_checked ? 0 : unchecked_flag)));
  store_little(at + 6, header.head_bytes);
  store_little(at + 8, header.payload_bytes);
  store_little(at + 16, header.sequence);
  store_little(at + 24, header.acknowledged);
  for (std::size_t c = 0; c < class_count; ++c) store_little(at + 32 + 4 * c, header.granted[c]);
  store_little(at + 48, header.payload_checksum);
  store_little(at + header_checksum_offset, header_checksum(frame));
  store_little(at + head_checksum_offset, head_checksum(frame, header.head_bytes));
}

result<frame_header> decode_frame_header(std::span<const std::byte, frame_header_bytes> bytes) noexcept {
  const std::byte* at = bytes.data();
  if (load_little<std::uint32_t>(at) != frame_header::magic)
    return error(errc::malformed, "frame: wrong magic number");
  if (load_little<std::uint32_t>(at + header_checksum_offset) != header_checksum(bytes))
    return error(errc::checksum_mismatch, "frame: header checksum differs");
  const auto type = load_little<std::uint8_t>(at + 4);
  const auto marked_class = load_little<std::uint8_t>(at + 5);
  const bool checked = (marked_class & unchecked_flag) == 0;
  const auto klass = static_cast<std::uint8_t>(marked_class & ~unchecked_flag);
  if (!is_known(type)) return make_error(errc::malformed, "frame: unknown type {}", type);
  if (klass >= class_count) return make_error(errc::malformed, "frame: unknown class {}", klass);
  const bool bulk = klass == static_cast<std::uint8_t>(traffic_class::bulk);
  if (!checked && !bulk) return make_error(errc::malformed, "frame: class {} without a checksum", klass);
  frame_header header;
  header.payload_checked = checked;
  header.type = static_cast<frame_type>(type);
  header.klass = static_cast<traffic_class>(klass);
  header.head_bytes = load_little<std::uint16_t>(at + 6);
  header.payload_bytes = load_little<std::uint32_t>(at + 8);
  if (header.head_bytes > max_head_bytes) {
    return make_error(errc::too_large, "frame: head of {} bytes, limit {}", header.head_bytes,
                      max_head_bytes);
  }
  const std::size_t limit = bulk ? max_bulk_payload_bytes : max_payload_bytes;
  if (header.payload_bytes > limit) {
    return make_error(errc::too_large, "frame: payload of {} bytes, limit {}", header.payload_bytes, limit);
  }
  if (header.type == frame_type::notice) {
    if (const auto s = check_notice(header); !s) return s.error();
  }
  header.sequence = load_little<std::uint64_t>(at + 16);
  header.acknowledged = load_little<std::uint64_t>(at + 24);
  for (std::size_t c = 0; c < class_count; ++c)
    header.granted[c] = load_little<std::uint32_t>(at + 32 + 4 * c);
  header.payload_checksum = load_little<std::uint64_t>(at + 48);
  return header;
}

bool frame_head_intact(std::span<const std::byte> frame, const frame_header& header) noexcept {
  return load_little<std::uint64_t>(frame.data() + head_checksum_offset) ==
         head_checksum(frame, header.head_bytes);
}

}  // namespace scoll::transport
