#pragma once

#include <coroutine>
#include <cstddef>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

/// Counted permits, granted first come, first served: small requests do not overtake a large one at the head.
/// The semaphore belongs to one thread and must outlive its waiters.
class semaphore : private detail::wait_list {
 public:
  explicit semaphore(std::size_t permits) noexcept : wait_list(&waiter_left), available_(permits) {}

  std::size_t available() const noexcept { return available_; }
  bool has_waiters() const noexcept { return !empty(); }

  class stoppable_awaiter : protected detail::waiter {
   public:
    stoppable_awaiter(semaphore& owner, std::size_t n, stop_token stop) noexcept
        : waiter(stop), owner_(&owner), wanted_(n) {}
    bool await_ready() noexcept { return stopped_before() || owner_->try_acquire(wanted_); }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(*owner_, handle); }
    status await_resume() const noexcept { return code_; }

   private:
    friend class semaphore;
    semaphore* owner_;
    std::size_t wanted_;
  };
  class awaiter : public stoppable_awaiter {
   public:
    awaiter(semaphore& owner, std::size_t n) noexcept : stoppable_awaiter(owner, n, {}) {}
    void await_resume() const noexcept {}
  };

  /// Takes `n` permits; waits until they are available. Gives a `status`: `cancelled` if the token fires
  /// first or has fired already, and then no permit is taken. A request for more permits than there will ever
  /// be waits forever.
  [[nodiscard]] stoppable_awaiter acquire(std::size_t n, stop_token stop) noexcept {
    return {*this, n, stop};
  }
  [[nodiscard]] awaiter acquire(std::size_t n = 1) noexcept { return {*this, n}; }

  /// Takes `n` permits if they are available and nobody is waiting.
  bool try_acquire(std::size_t n = 1) noexcept {
    if (!empty() || available_ < n) return false;
    available_ -= n;
    return true;
  }

  /// Returns `n` permits, or adds new ones.
  void release(std::size_t n = 1) noexcept {
    available_ += n;
    serve();
  }

 private:
  static void waiter_left(wait_list& self) noexcept { static_cast<semaphore&>(self).serve(); }

  void serve() noexcept {
    while (!empty()) {
      auto& first = static_cast<stoppable_awaiter&>(front());
      if (first.wanted_ > available_) return;
      available_ -= first.wanted_;
      first.wake();
    }
  }

  std::size_t available_;
};

}  // namespace scoll
