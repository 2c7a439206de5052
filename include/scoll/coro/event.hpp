#pragma once

#include <coroutine>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

/// A flag that any number of coroutines can wait for, any number of times. It stays set until `reset`.
/// Waiters resume in the order in which they came, in a later step of their executor, even if the event is
/// reset before they run. The event belongs to one thread and must outlive its waiters.
class event {
 public:
  explicit event(bool initially_set = false) noexcept : set_(initially_set) {}

  bool is_set() const noexcept { return set_; }
  void set() noexcept {
    set_ = true;
    waiters_.wake_all();
  }
  void reset() noexcept { set_ = false; }

  /// `co_await e.wait(stop)` gives a `status`: `cancelled` if the token fires first or has fired already.
  class stoppable_awaiter : protected detail::waiter {
   public:
    stoppable_awaiter(event& owner, stop_token stop) noexcept : waiter(stop), owner_(&owner) {}
    bool await_ready() noexcept { return stopped_before() || owner_->set_; }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(owner_->waiters_, handle); }
    status await_resume() const noexcept { return code_; }

   private:
    event* owner_;
  };
  [[nodiscard]] stoppable_awaiter wait(stop_token stop) noexcept { return {*this, stop}; }

  /// `co_await e.wait()` cannot fail.
  class awaiter : public stoppable_awaiter {
   public:
    explicit awaiter(event& owner) noexcept : stoppable_awaiter(owner, {}) {}
    void await_resume() const noexcept {}
  };
  [[nodiscard]] awaiter wait() noexcept { return awaiter(*this); }

 private:
  bool set_;
  detail::wait_list waiters_;
};

}  // namespace scoll
