#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// How long an operation may take: no limit (the default), a duration from the start of the await, or a point
/// in time. Every option called `deadline` has this type, so that `{.deadline = 5s}`,
/// `{.deadline = scoll::deadline(at)}` and `{.deadline = context.remaining()}` all say what they mean.
///
/// An operation whose limit is over when it starts fails at once with `deadline_exceeded`, and sends nothing.
class time_limit {
 public:
  /// No limit.
  constexpr time_limit() noexcept = default;

  /// `d` from the start of the await, rounded up to whole nanoseconds. A `d` of zero or less leaves no time
  /// at all. `nanoseconds::max()`, and everything longer, is no limit.
  template <class Rep, class Period>
  constexpr time_limit(std::chrono::duration<Rep, Period> d) noexcept
      : time_limit(saturated(d), kind::span) {}

  /// A point in time; `never` is no limit.
  constexpr time_limit(const deadline& until) noexcept
      : time_limit(until.at.time_since_epoch().count(), kind::point) {}

  constexpr bool unlimited() const noexcept { return kind_ == kind::none; }

  /// The point in time at which an operation that starts at `start` must be over.
  constexpr deadline from(time_point start) const noexcept {
    if (kind_ == kind::none) return {};
    if (kind_ == kind::span) return deadline(saturating_add(start, nanoseconds(count_)));
    return deadline(time_point(nanoseconds(count_)));
  }

  /// The time that an operation starting at `start` may take: zero if the limit is over by then,
  /// `nanoseconds::max()` if there is none.
  constexpr nanoseconds left(time_point start) const noexcept { return from(start).remaining(start); }

  /// True if an operation that starts at `start` has no time at all.
  constexpr bool over(time_point start) const noexcept { return from(start).passed(start); }

  /// True if kind and value are the same. A duration and a point in time are never equal.
  friend constexpr bool operator==(const time_limit&, const time_limit&) noexcept = default;

 private:
  enum class kind : std::uint8_t { none, span, point };
  static constexpr std::int64_t longest = std::numeric_limits<std::int64_t>::max();

  constexpr time_limit(std::int64_t count, kind of) noexcept
      : count_(count == longest ? 0 : count), kind_(count == longest ? kind::none : of) {}

  /// Converts to whole nanoseconds, from zero to `longest`.
  template <class Rep, class Period>
  static constexpr std::int64_t saturated(std::chrono::duration<Rep, Period> d) noexcept {
    if (!(d > d.zero())) return 0;
    if constexpr (std::is_same_v<decltype(d), nanoseconds>) return d.count();
    // Integers wider than a double's mantissa lose bits here. The loss only affects durations too long for it
    // to matter.
    using wide = std::chrono::duration<long double, std::nano>;
    if (wide(d).count() >= static_cast<long double>(longest)) return longest;
    return std::chrono::ceil<nanoseconds>(d).count();
  }

  std::int64_t count_ = 0;  ///< nanoseconds of the duration, or since the clock's zero
  kind kind_ = kind::none;
};
static_assert(std::is_trivially_copyable_v<time_limit> && sizeof(time_limit) == 16);

}  // namespace scoll
