#pragma once

#include <algorithm>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// How fast one of several links of a lane takes bytes, and when it will have taken what it has been given.
/// It is told when the link gets a batch and when it can take the next one. A link that never makes its
/// owner wait for long has no known rate.
class link_load {
 public:
  /// A sample of the rate covers at least this much time in which the owner had to wait.
  static constexpr nanoseconds sample_time = std::chrono::milliseconds(2);

  /// The link has been given a batch, and can take no other one until `took`.
  void gave(std::uint64_t bytes, time_point now) noexcept {
    since_ = now;
    waits_ = true;
    batch_ = bytes;
    if (known()) done_at_ = std::max(now, done_at_) + time_of(bytes);
  }
  /// The link can take the next batch.
  void took(time_point now) noexcept {
    if (!waits_) return;
    waits_ = false;
    bytes_ += batch_;
    time_ += now - since_;
    if (time_ < sample_time) return;
    const auto measured = static_cast<double>(bytes_) / static_cast<double>(time_.count());
    rate_ = known() ? (rate_ + measured) / 2 : measured;
    bytes_ = 0;
    time_ = nanoseconds(0);
  }

  bool known() const noexcept { return rate_ > 0; }
  /// When the link will have taken all that it was given, and `more` bytes. A link that has made its owner
  /// wait for a time is expected to go on so for as long again. The rate is known.
  time_point done_with(std::uint64_t more, time_point now) const noexcept {
    time_point free = std::max(now, done_at_);
    if (waits_) free = std::max(free, now + (now - since_));
    return free + time_of(more);
  }

 private:
  nanoseconds time_of(std::uint64_t bytes) const noexcept {
    return nanoseconds(static_cast<std::int64_t>(static_cast<double>(bytes) / rate_));
  }

  double rate_ = 0;  // in bytes per nanosecond
  std::uint64_t batch_ = 0;
  std::uint64_t bytes_ = 0;
  nanoseconds time_{0};
  time_point since_{};
  time_point done_at_{};
  bool waits_ = false;
};

/// True if a link should leave a segment of `size` bytes to a faster one, because that one would be done
/// sooner with all the `queued` bytes that wait, the segment included.
inline bool leaves_to(const link_load& one, const link_load& faster, std::uint64_t size, std::uint64_t queued,
                      time_point now) noexcept {
  return one.known() && faster.known() && faster.done_with(queued, now) < one.done_with(size, now);
}

/// The most segments of a window that one path may hold. Each other healthy path is left two, so that a path
/// that stalls cannot hold all credit.
constexpr std::uint32_t share_of(std::uint32_t window, std::uint32_t other_paths) noexcept {
  const std::uint32_t left = 2 * other_paths;
  return window > left ? window - left : 1;
}

}  // namespace scoll::transport
