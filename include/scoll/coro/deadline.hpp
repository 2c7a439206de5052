#pragma once

#include <compare>

#include "scoll/coro/error.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// The point in time by which something must be over; by default there is none (`never`). Messages carry the
/// remaining time instead.
struct deadline {
  time_point at = never;

  constexpr deadline() noexcept = default;
  constexpr explicit deadline(time_point point) noexcept : at(point) {}

  /// The deadline that lies `d` after the present time of the current executor.
  static deadline in(nanoseconds d) noexcept {
    return deadline(saturating_add(executor::current().now(), d));
  }

  constexpr bool unlimited() const noexcept { return at == never; }
  constexpr bool passed(time_point now) const noexcept { return at <= now; }
  /// The time left: zero once the deadline has passed, `nanoseconds::max()` if there is none.
  constexpr nanoseconds remaining(time_point now) const noexcept {
    if (unlimited()) return nanoseconds::max();
    return passed(now) ? nanoseconds::zero() : at - now;
  }
  /// A deadline that is `margin` earlier, or no deadline if there is none.
  constexpr deadline less(nanoseconds margin) const noexcept {
    return unlimited() ? *this : deadline(at - margin);
  }

  friend constexpr auto operator<=>(const deadline&, const deadline&) noexcept = default;
};

/// A stop source that fires by itself when a deadline passes or when a parent token fires, and that knows
/// which came first. It belongs to the executor that is current when it is made, and must outlive its tokens.
class deadline_stop : private timer_node {
 public:
  explicit deadline_stop(deadline limit, stop_token parent = {}) noexcept
      : timer_node(&passed), executor_(executor::current()), parent_(&parent_fired, this) {
    parent_.connect(parent);
    if (stop_requested() || limit.unlimited()) return;
    if (limit.passed(executor_.now())) {
      fire(errc::deadline_exceeded);
    } else {
      executor_.arm(*this, limit.at);
    }
  }
  ~deadline_stop() { executor_.disarm(*this); }

  stop_token token() noexcept { return source_.token(); }
  bool stop_requested() const noexcept { return source_.stop_requested(); }

  /// Fires the source by hand, with `cancelled` as the reason. Returns true for the first request only.
  bool request_stop() noexcept { return fire(errc::cancelled); }

  /// Why the source fired: `deadline_exceeded` or `cancelled`, or `ok` if it has not fired.
  errc reason() const noexcept { return reason_; }

  /// Returns the error that an operation under this token should report: its own error `e`, except that
  /// `cancelled` becomes `deadline_exceeded` if the deadline was the reason.
  error explain(const error& e) const noexcept {
    if (e != errc::cancelled || reason_ != errc::deadline_exceeded) return e;
    return {errc::deadline_exceeded, e.text(), e.detail(), e.domain()};
  }

 private:
  static void passed(timer_node& self) noexcept {
    static_cast<deadline_stop&>(self).fire(errc::deadline_exceeded);
  }
  static void parent_fired(void* self) noexcept { static_cast<deadline_stop*>(self)->fire(errc::cancelled); }

  bool fire(errc reason) noexcept {
    if (source_.stop_requested()) return false;
    reason_ = reason;
    executor_.disarm(*this);
    parent_.disconnect();
    return source_.request_stop();
  }

  executor& executor_;
  errc reason_ = errc::ok;
  stop_source source_;
  stop_callback parent_;
};

}  // namespace scoll
