#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// The round-trip time to a peer as its answered probes show it, smoothed as in RFC 6298. All values are 0
/// until the first sample. A single sample that is far above all others shows that the peer stood still for a
/// while, and not that the way has become longer. It does not count unless the next one is like it.
class round_trip {
 public:
  /// What `safe` adds to what was measured: the turns of both sides.
  static constexpr nanoseconds turns = std::chrono::milliseconds(1);
  /// The time for which `least` remembers a sample, at least; at most twice that long.
  static constexpr nanoseconds memory = std::chrono::seconds(10);

  /// A sample is far above the others if it exceeds twice the safe time by this.
  static constexpr nanoseconds far = std::chrono::milliseconds(100);

  /// That of a peer to which no connection was ever made.
  static const round_trip& unknown() noexcept {
    static constexpr round_trip none;
    return none;
  }

  bool known() const noexcept { return smoothed_.count() != 0; }
  nanoseconds smoothed() const noexcept { return smoothed_; }
  nanoseconds deviation() const noexcept { return deviation_; }
  /// The shortest one of the last seconds.
  nanoseconds least() const noexcept { return std::min(least_, least_before_); }
  /// A time that nearly all answers keep.
  nanoseconds safe() const noexcept { return known() ? smoothed_ + 4 * deviation_ + turns : nanoseconds(0); }

  void add(nanoseconds sample, time_point now) noexcept {
    sample = std::max(sample, nanoseconds(1));
    const bool doubtful = sample > 2 * safe() + far;
    if (!std::exchange(doubted_, doubtful) && doubtful) return;
    if (!known()) {
      smoothed_ = least_ = least_before_ = sample;
      deviation_ = sample / 2;
      least_since_ = now;
      return;
    }
    const nanoseconds off = sample - smoothed_;
    deviation_ += (std::max(off, -off) - deviation_) / 4;
    smoothed_ += off / 8;
    if (now - least_since_ >= memory) {
      least_before_ = least_;
      least_ = sample;
      least_since_ = now;
    }
    least_ = std::min(least_, sample);
  }

 private:
  nanoseconds smoothed_{0};
  nanoseconds deviation_{0};
  nanoseconds least_{0};
  nanoseconds least_before_{0};
  time_point least_since_{};
  bool doubted_ = false;  // the last sample was far above the others
};

}  // namespace scoll::transport
