#pragma once

#include <algorithm>
#include <cstddef>

#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// Bounds how often something is asked: `per_second` times, after as many at once.
class ask_limit {
 public:
  explicit ask_limit(std::size_t per_second) noexcept
      : per_second_(static_cast<double>(per_second)), left_(per_second_) {}

  /// Returns true if one more is allowed now, and counts it.
  bool take(time_point now) noexcept {
    const std::chrono::duration<double> passed = now - last_;
    left_ = std::min(per_second_, left_ + passed.count() * per_second_);
    last_ = now;
    if (left_ < 1) return false;
    left_ -= 1;
    return true;
  }

 private:
  double per_second_;
  double left_;
  time_point last_{};
};

}  // namespace scoll::detail
