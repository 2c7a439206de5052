#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll {

/// Counts durations in fixed buckets from 1 µs to 10 s, three per decade. Adding one allocates nothing.
class latency_histogram {
 public:
  /// The upper bounds of the buckets, each inclusive. One more bucket has what is longer than all of them.
  static constexpr std::array<nanoseconds, 22> bounds = [] {
    std::array<nanoseconds, 22> made{};
    nanoseconds decade = std::chrono::microseconds(1);
    for (std::size_t i = 0; i < made.size(); ++i) {
      constexpr std::array<int, 3> steps{1, 2, 5};
      made[i] = decade * steps[i % 3];
      if (i % 3 == 2) decade *= 10;
    }
    return made;
  }();

  void add(nanoseconds took) noexcept {
    const auto at = std::lower_bound(bounds.begin(), bounds.end(), took);
    ++counts_[static_cast<std::size_t>(at - bounds.begin())];
    sum_ += took;
  }

  /// The number of durations in a bucket; the last one has those longer than all bounds.
  std::uint64_t count(std::size_t bucket) const noexcept { return counts_[bucket]; }
  std::uint64_t total() const noexcept {
    std::uint64_t sum = 0;
    for (const std::uint64_t each : counts_) sum += each;
    return sum;
  }
  nanoseconds sum() const noexcept { return sum_; }

  /// A duration that at least the `share` of all durations (0 to 1) did not exceed: the upper bound of a
  /// bucket. Zero if nothing was counted, and the last bound if it lies beyond.
  nanoseconds quantile(double share) const noexcept {
    const std::uint64_t all = total();
    if (all == 0) return nanoseconds::zero();
    std::uint64_t below = 0;
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      below += counts_[i];
      if (static_cast<double>(below) >= share * static_cast<double>(all)) return bounds[i];
    }
    return bounds.back();
  }

 private:
  std::array<std::uint64_t, bounds.size() + 1> counts_{};
  nanoseconds sum_{0};
};

}  // namespace scoll
