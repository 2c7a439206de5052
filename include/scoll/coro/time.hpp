#pragma once

#include <chrono>
#include <cstdint>

namespace scoll {

using nanoseconds = std::chrono::nanoseconds;

/// The clock of every executor: monotonic, in integer nanoseconds, with an arbitrary zero. It has no `now()`
/// of its own, because time always comes from an executor and may be virtual.
struct executor_clock {
  using rep = std::int64_t;
  using period = std::nano;
  using duration = nanoseconds;
  using time_point = std::chrono::time_point<executor_clock, nanoseconds>;
  static constexpr bool is_steady = true;
};

using time_point = executor_clock::time_point;

/// The time of a deadline that does not exist.
inline constexpr time_point never = time_point::max();

/// `at + d`, saturated at `never` instead of overflowing.
constexpr time_point saturating_add(time_point at, nanoseconds d) noexcept {
  if (d.count() > 0 && at.time_since_epoch().count() > INT64_MAX - d.count()) return never;
  return at + d;
}

}  // namespace scoll
