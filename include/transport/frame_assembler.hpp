#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "frame.hpp"
#include "link.hpp"
#include "slab.hpp"

namespace scoll::transport {

/// Cuts a byte stream into frames and checks them. A frame that lies whole in one received buffer is lent out
/// where it is; one that is split is collected in a slab of `frames` (slab size at least `max_frame_bytes`).
/// The first violation ends the stream.
class frame_assembler {
 public:
  explicit frame_assembler(slab_pool& frames) noexcept : frames_(&frames) {}

  /// Feeds received bytes that lie in `owner`. Calls `sink(frame_view&)` for every complete frame; `sink`
  /// returns false to stop (the link is gone, and this object with it). Errors: `malformed`, `too_large`,
  /// `checksum_mismatch`, `busy` (no slab for a split frame).
  template <class Sink>
  status feed(const slab_ref& owner, std::span<const std::byte> bytes, Sink&& sink) {
    while (true) {
      frame_step step = next(owner, bytes);
      if (step.failed) return step.reason;
      if (!step.complete) return {};
      frame_view view{step.header, step.head, std::move(step.payload)};  // `step` holds what `head` lies in
      if (!sink(view)) return {};
    }
  }

  /// Bytes of a frame that has begun and not ended.
  std::size_t partial_bytes() const noexcept { return filled_; }

 private:
  struct frame_step {
    bool complete = false;
    bool failed = false;
    error reason;
    frame_header header;
    std::span<const std::byte> head;
    loan payload;
    slab_ref collected;  // what a frame that came in pieces lies in
  };

  frame_step next(const slab_ref& owner, std::span<const std::byte>& bytes) noexcept;
  frame_step whole(const slab_ref& owner, std::span<const std::byte> frame,
                   const frame_header& header) noexcept;
  bool collect(std::span<const std::byte>& bytes, std::size_t until) noexcept;
  static frame_step fail(const error& reason) noexcept;

  slab_pool* frames_;
  slab_ref partial_;
  std::size_t filled_ = 0;
  std::optional<frame_header> header_;
};

}  // namespace scoll::transport
