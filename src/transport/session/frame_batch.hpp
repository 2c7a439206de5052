#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <type_traits>

#include "transport/session/limits.hpp"
#include "transport/session/link.hpp"

namespace scoll::transport {

/// The frames of one write. Places that are not used are not even touched: most batches have one frame, and
/// all places together are fifty cache lines.
class frame_batch {
 public:
  frame_batch() noexcept {}
  frame_batch(const frame_batch&) = delete;
  frame_batch& operator=(const frame_batch&) = delete;
  ~frame_batch() = default;

  bool full() const noexcept { return size_ == limits::batch_frames; }
  std::size_t size() const noexcept { return size_; }
  void push_back(const frame_parts& frame) noexcept { std::construct_at(&places_[size_++], frame); }
  const frame_parts& back() const noexcept { return places_[size_ - 1]; }
  std::span<const frame_parts> frames() const noexcept { return {places_, size_}; }

 private:
  static_assert(std::is_trivially_destructible_v<frame_parts>);
  union {
    frame_parts
        places_[limits::batch_frames];  // NOLINT(readability-identifier-naming): private, as the union is
  };
  std::size_t size_ = 0;
};

}  // namespace scoll::transport
