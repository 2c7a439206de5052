#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "transport/io/buffer.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

class emission;
class exchange;

/// The XXH3 of a payload, computed when its bytes were verified.
struct known_checksum {
  std::uint64_t value = 0;
};

/// One message on its way to a peer, kept until the peer has acknowledged it so that it can be sent again on
/// another link. A small payload lies inside it; a larger one is shared by reference. Messages come from a
/// `message_pool`.
class message : public list_hook<> {
 public:
  /// The bytes of the head that belong to the exchange: its id, and the reply capacity in a request or the
  /// outcome in a reply.
  static constexpr std::size_t envelope_bytes = 16;
  static constexpr std::size_t inline_payload_bytes = 320;
  /// The longest head, envelope included, that leaves room for a payload inside the message. With a longer
  /// head, a small payload is allocated on the heap.
  static constexpr std::size_t common_head_bytes = max_head_bytes - inline_payload_bytes;

  /// Room for the upper layer's head, after the frame header and the exchange's envelope.
  std::span<std::byte> head_space() noexcept {
    const std::size_t room = holds_payload() ? common_head_bytes : max_head_bytes;
    return {envelope() + envelope_bytes, room - envelope_bytes};
  }
  void set_head_bytes(std::size_t size) noexcept {
    SCOLL_ASSERT(size <= head_space().size(), "a message head exceeds its limit");
    header_.head_bytes = static_cast<std::uint16_t>(size + envelope_bytes);
  }
  std::span<const std::byte> head() const noexcept {
    return {bytes_.data() + frame_header_bytes, header_.head_bytes};
  }

  /// Shares `payload`. `checksum` is the XXH3 of its bytes, computed once for all messages that share it.
  void share_payload(buffer_view payload, std::uint64_t checksum) noexcept {
    header_.payload_bytes = static_cast<std::uint32_t>(payload.bytes.size());
    header_.payload_checksum = checksum;
    payload_ = std::move(payload);
  }
  /// Room for a small payload inside the message, if the head is no longer than `common_head_bytes`. Write
  /// the payload there, then call `set_inline_payload`.
  std::span<std::byte> payload_space() noexcept {
    return {bytes_.data() + frame_header_bytes + common_head_bytes, inline_payload_bytes};
  }
  void set_inline_payload(std::size_t size, std::uint64_t checksum) noexcept {
    SCOLL_ASSERT(header_.head_bytes <= common_head_bytes, "a head lies where the payload is to be");
    share_payload({{}, payload_space().first(size)}, checksum);
  }
  /// Copies a small payload of at most `inline_payload_bytes`.
  void copy_payload(std::span<const std::byte> payload, std::uint64_t checksum) {
    SCOLL_ASSERT(payload.size() <= inline_payload_bytes, "a payload is too large to lie in its message");
    std::span<std::byte> into = payload_space().first(payload.size());
    if (header_.head_bytes > common_head_bytes) {
      beside_ = std::make_unique<std::byte[]>(payload.size());
      into = {beside_.get(), payload.size()};
    }
    if (!payload.empty()) std::memcpy(into.data(), payload.data(), payload.size());
    share_payload({{}, into}, checksum);
  }

  /// Sends a payload from lent memory, with the content it has each time it is sent, and with a checksum if
  /// `checked`. When the memory is recalled, a reply turns into the refusal `stale_descriptor`, and a request
  /// loses its payload.
  void lend_payload(const lent_range& from, bool checked) noexcept {
    header_.payload_bytes = from.size;
    header_.payload_checked = checked;
    checksum_known_ = false;
    lent_offset_ = from.offset;
    borrow_.borrow(*from.memory);
  }
  /// Likewise, with a checksum that the sender knows already. Nobody computes it anew, so a receiver finds
  /// out if the memory has changed since.
  void lend_payload(const lent_range& from, known_checksum known) noexcept {
    lend_payload(from, true);
    header_.payload_checksum = known.value;
    checksum_known_ = true;
  }
  bool lends() const noexcept { return borrow_.memory() != nullptr; }

  std::size_t frame_bytes() const noexcept { return header_.frame_bytes(); }
  /// The bytes of the message that a link copies.
  std::size_t copied_bytes() const noexcept {
    return frame_header_bytes + header_.head_bytes + payload_.bytes.size();
  }
  frame_header& header() noexcept { return header_; }
  frame_parts parts() noexcept;

 private:
  friend class emission;
  friend class message_pool;
  friend class session;
  friend class lane;

  class lent_payload final : public borrower {
   public:
    explicit lent_payload(message& owner) noexcept : borrower(&recalled), owner_(owner) {}
    ~lent_payload() = default;

   private:
    static void recalled(borrower& self) noexcept {
      static_cast<lent_payload&>(self).owner_.payload_recalled();
    }
    message& owner_;
  };
  void payload_recalled() noexcept;
  void drop_payload() noexcept;
  void become_refusal(errc code, std::string_view why) noexcept;

  std::byte* envelope() noexcept { return bytes_.data() + frame_header_bytes; }
  bool holds_payload() noexcept {
    return !payload_.bytes.empty() && payload_.bytes.data() == payload_space().data();
  }

  frame_header header_;
  buffer_view payload_;
  lent_payload borrow_{*this};
  std::uint64_t lent_offset_ = 0;
  bool checksum_known_ = false;    // of the lent payload
  std::uint8_t handed_to_ = 0;     // the mark of a connection, of a lane that has several
  exchange* requester_ = nullptr;  // the requester, while its request is not acknowledged
  emission* ticket_ = nullptr;     // of a notice, if somebody listens
  std::unique_ptr<std::byte[]> beside_;
  alignas(16) std::array<std::byte, frame_header_bytes + max_head_bytes> bytes_;
};

/// A pool of messages. It grows to the most messages that were needed at once, and keeps that; the sessions'
/// credits and queue limits bound it. Each step is as large as all steps before it, up to a limit.
class message_pool {
 public:
  message_pool() = default;
  message_pool(const message_pool&) = delete;
  message_pool& operator=(const message_pool&) = delete;

  message& acquire();
  void release(message& m) noexcept;
  std::size_t in_use() const noexcept { return in_use_; }

 private:
  static constexpr std::size_t largest_step = 16;

  std::vector<std::unique_ptr<message[]>> blocks_;
  intrusive_list<message> free_;
  std::size_t created_ = 0;
  std::size_t in_use_ = 0;
};

}  // namespace scoll::transport
