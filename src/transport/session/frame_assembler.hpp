#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "transport/io/buffer.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/lent_memory.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// Cuts a byte stream into frames and checks them. A frame that lies whole in one received buffer is lent out
/// in place. A split frame is collected in a buffer of `frames`, whose buffers must have at least
/// `max_frame_bytes`. The first violation ends the stream.
///
/// A large payload of class bulk goes straight to the place that `link_events::place_payload` gives, as it
/// arrives. If there is no such place and no buffer can hold it, it is dropped. So memory is bounded, however
/// large frames are.
class frame_assembler {
 public:
  explicit frame_assembler(buffer_pool& frames) noexcept : frames_(&frames) {}

  /// Sets the owner, which says where payloads go; null: none.
  void set_owner(link_events* owner) noexcept { owner_ = owner; }

  /// The place of the next bytes of the stream, so that they can be received there without a copy; then call
  /// `advance` before feeding more. Empty if the next bytes must be fed.
  lent_range room() const noexcept;
  /// The place of the rest of a large frame that is being collected, for the same purpose; then call `collected`. Empty
  /// if there is none.
  std::span<std::byte> rest_of_large() noexcept;
  /// Says that `received` bytes of `rest_of_large` were received. The result is that of `feed`.
  template <class Sink>
  status collected(std::size_t received, Sink&& sink) {
    filled_ += received;
    if (filled_ != header_->frame_bytes()) return {};
    frame_step step = collected_whole();
    if (step.failed) return step.reason;
    hand_out(step, sink);
    return {};
  }
  /// Says that `received` bytes of `room` were received.
  template <class Sink>
  void advance(std::size_t received, Sink&& sink) {
    placed_ += received;
    if (placed_ != header_->payload_bytes) return;
    frame_step step = placed_whole();
    hand_out(step, sink);
  }
  /// Drops the place of the payload under way, because the link has lost its owner.
  void forget_room() noexcept { target_.give_back(); }

  /// Feeds received bytes that lie in `owner`. Calls `sink(frame_view&)` for every complete frame. `sink`
  /// returns false to stop: then the link is gone, and this object with it. Errors: `malformed`, `too_large`,
  /// `checksum_mismatch`, `busy` (no buffer for a split frame).
  template <class Sink>
  status feed(const buffer_ref& owner, std::span<const std::byte> bytes, Sink&& sink) {
    return feed_some(owner, bytes, sink);
  }
  /// Likewise. When `sink` has returned false, `bytes` are those that were not fed.
  template <class Sink>
  status feed_some(const buffer_ref& owner, std::span<const std::byte>& bytes, Sink&& sink) {
    while (true) {
      frame_step step = next(owner, bytes);
      if (step.failed) return step.reason;
      if (!step.complete) return {};
      if (!hand_out(step, sink)) return {};
    }
  }

  /// The bytes that have arrived of an incomplete frame.
  std::size_t partial_bytes() const noexcept { return filled_; }

 private:
  struct frame_step {
    bool complete = false;
    bool failed = false;
    error reason;
    frame_header header;
    std::span<const std::byte> head;
    buffer_view payload;
    buffer_ref collected;  // the buffer of a frame that came in pieces
    payload_disposition fate = payload_disposition::lent;
  };
  /// It checks its memory before each use, so it need not be told of a recall.
  class target final : public borrower {
   public:
    ~target() = default;
  };
  enum class payload_way : std::uint8_t { undecided, collected, placed, dropped };

  template <class Sink>
  static bool hand_out(frame_step& step, Sink&& sink) {
    frame_view view{step.header, step.head, std::move(step.payload), step.fate};
    return sink(view);  // `step` holds the buffer of `head`
  }

  frame_step next(const buffer_ref& owner, std::span<const std::byte>& bytes) noexcept;
  frame_step whole(const buffer_ref& owner, std::span<const std::byte> frame,
                   const frame_header& header) noexcept;
  frame_step collected_whole() noexcept;
  status choose_way() noexcept;
  frame_step place(std::span<const std::byte>& bytes) noexcept;
  frame_step placed_whole() noexcept;
  bool collect(std::span<const std::byte>& bytes, std::size_t until) noexcept;
  static frame_step fail(const error& reason) noexcept;

  buffer_pool* frames_;
  link_events* owner_ = nullptr;
  payload_way way_ = payload_way::undecided;
  target target_;
  std::uint64_t target_offset_ = 0;
  std::size_t placed_ = 0;  // bytes placed or dropped
  buffer_ref partial_;
  std::size_t filled_ = 0;
  std::optional<frame_header> header_;
};

}  // namespace scoll::transport
