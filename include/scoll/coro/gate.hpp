#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

class gate;

/// The right to be inside a gate; its destruction leaves the gate. A pass can be moved but not copied. A
/// pooled object keeps one as a member, and lets it `leave` when the object returns to its pool.
class gate_pass {
 public:
  gate_pass() noexcept = default;
  gate_pass(gate_pass&& other) noexcept : gate_(std::exchange(other.gate_, nullptr)) {}
  gate_pass& operator=(gate_pass&& other) noexcept {
    if (this != &other) {
      leave();
      gate_ = std::exchange(other.gate_, nullptr);
    }
    return *this;
  }
  ~gate_pass() { leave(); }

  inline void leave() noexcept;
  explicit operator bool() const noexcept { return gate_ != nullptr; }

 private:
  friend class gate;
  explicit gate_pass(gate* owner) noexcept : gate_(owner) {}
  gate* gate_ = nullptr;
};

/// Keeps an object alive while it is used: users enter, and closing the gate refuses new users and waits for
/// those inside. The gate belongs to one thread and must outlive its passes and its waiters.
class gate {
 public:
  gate() noexcept = default;
  ~gate() { SCOLL_ASSERT(inside_ == 0, "a gate was destroyed before all users had left"); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  bool closed() const noexcept { return closed_; }
  std::size_t inside() const noexcept { return inside_; }
  bool empty() const noexcept { return inside_ == 0; }

  /// Enters the gate. Errors: `closed` once `close` has been called.
  result<gate_pass> enter() noexcept {
    if (closed_) return errc::closed;
    return pass();
  }
  /// Enters even if the gate is closed. Use it for work that users inside start.
  gate_pass pass() noexcept {
    ++inside_;
    return gate_pass(this);
  }

  /// `co_await g.emptied(stop)` gives a `status`: `cancelled` if the token fires first or has fired already.
  class stoppable_awaiter : protected detail::waiter {
   public:
    stoppable_awaiter(gate& owner, stop_token stop) noexcept : waiter(stop), owner_(&owner) {}
    bool await_ready() noexcept { return stopped_before() || owner_->empty(); }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(owner_->waiters_, handle); }
    status await_resume() const noexcept { return code_; }

   private:
    gate* owner_;
  };
  /// `co_await g.close()` cannot fail.
  class awaiter : public stoppable_awaiter {
   public:
    explicit awaiter(gate& owner) noexcept : stoppable_awaiter(owner, {}) {}
    void await_resume() const noexcept {}
  };

  /// Waits until the gate is empty. It refuses no one meanwhile, so others may be inside again when the
  /// waiter resumes.
  [[nodiscard]] stoppable_awaiter emptied(stop_token stop) noexcept { return {*this, stop}; }
  [[nodiscard]] awaiter emptied() noexcept { return awaiter(*this); }

  /// Refuses new users from the call on; awaiting it waits until all users have left. It may be called
  /// several times and awaited by several coroutines. To limit the wait, pass the token of a `deadline_stop`.
  [[nodiscard]] stoppable_awaiter close(stop_token stop) noexcept {
    closed_ = true;
    return {*this, stop};
  }
  [[nodiscard]] awaiter close() noexcept {
    closed_ = true;
    return awaiter(*this);
  }

 private:
  friend class gate_pass;
  void leave() noexcept {
    if (--inside_ == 0) waiters_.wake_all();
  }

  std::size_t inside_ = 0;
  bool closed_ = false;
  detail::wait_list waiters_;
};

void gate_pass::leave() noexcept {
  if (gate* const owner = std::exchange(gate_, nullptr)) owner->leave();
}

}  // namespace scoll
