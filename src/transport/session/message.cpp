#include "transport/session/message.hpp"

#include <algorithm>
#include <string_view>

#include "transport/wire/byte_order.hpp"
#include "transport/wire/checksum.hpp"

namespace scoll::transport {
namespace {

const std::uint64_t empty_checksum = wire::checksum({});

}  // namespace

frame_parts message::parts() noexcept {
  const std::span<std::byte> head(bytes_.data(), frame_header_bytes + header_.head_bytes);
  frame_parts p{head, payload_.bytes, {borrow_.memory(), lent_offset_, header_.payload_bytes}};
  if (p.lent && !checksum_known_) {
    header_.payload_checksum =
        header_.payload_checked ? p.lent.memory->checksum(lent_offset_, header_.payload_bytes) : 0;
  }
  encode_frame_header(head, header_);
  return p;
}

/// The message may have to be sent again under the same number, so it becomes a harmless one.
void message::payload_recalled() noexcept {
  if (header_.type != frame_type::reply) return drop_payload();
  become_refusal(errc::stale_descriptor, "the region was withdrawn before it was read");
}

void message::drop_payload() noexcept {
  header_.payload_checked = true;
  header_.payload_bytes = 0;
  header_.payload_checksum = empty_checksum;
  payload_ = {};
  borrow_.give_back();
  beside_.reset();
}

void message::become_refusal(errc code, std::string_view why) noexcept {
  drop_payload();
  wire::detail::store_little(envelope() + 8, static_cast<std::uint16_t>(code));
  const auto text = std::as_bytes(std::span(why));
  copy_payload(text, wire::checksum(text));
}

message& message_pool::acquire() {
  if (free_.empty()) {
    const std::size_t step = std::clamp<std::size_t>(created_, 1, largest_step);
    blocks_.push_back(std::make_unique<message[]>(step));
    created_ += step;
    for (std::size_t i = 0; i < step; ++i) free_.push_back(blocks_.back()[i]);
  }
  ++in_use_;
  message& m = free_.pop_front();
  m.header_ = {};
  m.header_.head_bytes = message::envelope_bytes;
  m.header_.payload_checksum = empty_checksum;
  m.requester_ = nullptr;
  return m;
}

void message_pool::release(message& m) noexcept {
  SCOLL_ASSERT(!m.linked(), "a message was released while it is in a list");
  m.payload_ = {};
  m.borrow_.give_back();
  m.beside_.reset();
  --in_use_;
  free_.push_front(m);
}

}  // namespace scoll::transport
