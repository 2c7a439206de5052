#pragma once

#include <compare>

#include "scoll/coro/error.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// The point in time by which something must be over; `never` by default. On the wire it is the remaining
/// time.
struct deadline {
  time_point at = never;

  constexpr deadline() noexcept = default;
  constexpr explicit deadline(time_point point) noexcept : at(point) {}

  /// `d` from the present time of the current executor.
  static deadline in(nanoseconds d) noexcept {
    return deadline(saturating_add(executor::current().now(), d));
  }

  constexpr bool unlimited() const noexcept { return at == never; }
  constexpr bool passed(time_point now) const noexcept { return at <= now; }
  /// Zero once it has passed, the largest duration if there is none.
  constexpr nanoseconds remaining(time_point now) const noexcept {
    if (unlimited()) return nanoseconds::max();
    return passed(now) ? nanoseconds::zero() : at - now;
  }
  /// Earlier by `margin`; none stays none.
  constexpr deadline less(nanoseconds margin) const noexcept {
    return unlimited() ? *this : deadline(at - margin);
  }

  friend constexpr auto operator<=>(const deadline&, const deadline&) noexcept = default;
};

/// A stop source that fires by itself when a deadline passes or when a parent token fires, and knows which
/// came first. Belongs to the executor that is current when it is made; must outlive its tokens.
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

  /// Fires it by hand, as `cancelled`. True for the first request only.
  bool request_stop() noexcept { return fire(errc::cancelled); }

  /// Why it fired: `deadline_exceeded` or `cancelled`; `ok` if it has not.
  errc reason() const noexcept { return reason_; }

  /// What an operation under this token should report: its own error, except that `cancelled` becomes
  /// `deadline_exceeded` if that is what happened.
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
