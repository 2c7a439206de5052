#pragma once

#include <algorithm>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll::detail {

/// Encodes a deadline as the nanoseconds that are left, because clocks differ. 0 means that there is no
/// deadline, so a deadline that has just passed travels as 1.
constexpr std::uint64_t remaining_on_wire(time_point expires, time_point now) noexcept {
  if (expires == never) return 0;
  return static_cast<std::uint64_t>(std::max<std::int64_t>(1, (expires - now).count()));
}

}  // namespace scoll::detail
