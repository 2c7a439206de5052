#pragma once

#include <coroutine>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// Suspends until a point in time. It always yields to ready work, even if that time has passed.
class stoppable_sleep : private timer_node {
 public:
  stoppable_sleep(time_point at, stop_token token) noexcept
      : timer_node(&fired), at_(at), token_(token), stop_(&stopped, this) {}
  ~stoppable_sleep() = default;

  bool await_ready() noexcept {
    if (token_.stop_requested()) code_ = errc::cancelled;
    return code_ != errc::ok;
  }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    node_.set(handle);
    executor_ = &executor::current();
    executor_->arm(*this, at_);
    stop_.connect(token_);
  }
  status await_resume() const noexcept { return code_; }

 private:
  static void fired(timer_node& self) noexcept { static_cast<stoppable_sleep&>(self).wake(errc::ok); }
  static void stopped(void* self) noexcept {
    auto& sleep = *static_cast<stoppable_sleep*>(self);
    sleep.executor_->disarm(sleep);
    sleep.wake(errc::cancelled);
  }
  void wake(errc code) noexcept {
    stop_.disconnect();
    code_ = code;
    executor_->schedule(node_);
  }

  time_point at_;
  stop_token token_;
  stop_callback stop_;
  coroutine_node node_;
  executor* executor_ = nullptr;
  errc code_ = errc::ok;
};

/// A sleep that nothing can cut short.
class plain_sleep : public stoppable_sleep {
 public:
  explicit plain_sleep(time_point at) noexcept : stoppable_sleep(at, {}) {}
  void await_resume() const noexcept {}
};

/// `co_await sleep_until(at, stop)` gives a `status`: `cancelled` if the token fires first or has fired
/// already. It never wakes early. With `never` it sleeps until it is stopped.
[[nodiscard]] inline stoppable_sleep sleep_until(time_point at, stop_token stop) noexcept {
  return {at, stop};
}
[[nodiscard]] inline plain_sleep sleep_until(time_point at) noexcept {
  return plain_sleep(at);
}

/// Like `sleep_until`, counted from the present time of the current executor.
[[nodiscard]] inline stoppable_sleep sleep_for(nanoseconds d, stop_token stop) noexcept {
  return {saturating_add(executor::current().now(), d), stop};
}
[[nodiscard]] inline plain_sleep sleep_for(nanoseconds d) noexcept {
  return plain_sleep(saturating_add(executor::current().now(), d));
}

}  // namespace scoll
