#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

class gate;

/// Being inside a gate; leaves when destroyed. Move-only.
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

/// Keeps an object alive while it is used: users enter, closing refuses new ones and awaits those inside. One
/// thread; must outlive its passes.
class gate {
 public:
  gate() noexcept = default;
  ~gate() { SCOLL_ASSERT(inside_ == 0, "a gate was destroyed while someone is inside"); }
  gate(const gate&) = delete;
  gate& operator=(const gate&) = delete;

  bool closed() const noexcept { return closed_; }
  std::size_t inside() const noexcept { return inside_; }

  /// Fails with `closed` once `close` has been called.
  result<gate_pass> enter() noexcept {
    if (closed_) return errc::closed;
    ++inside_;
    return gate_pass(this);
  }

  class close_awaiter : private detail::waiter {
   public:
    explicit close_awaiter(gate& owner) noexcept : waiter({}), owner_(&owner) {}
    bool await_ready() const noexcept { return owner_->inside_ == 0; }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(owner_->closers_, handle); }
    void await_resume() const noexcept {}

   private:
    gate* owner_;
  };

  /// Refuses newcomers from the call on; awaiting it waits until everyone has left. May be repeated, and
  /// awaited by several.
  [[nodiscard]] close_awaiter close() noexcept {
    closed_ = true;
    return close_awaiter(*this);
  }

 private:
  friend class gate_pass;
  void leave() noexcept {
    if (--inside_ == 0 && closed_) closers_.wake_all();
  }

  std::size_t inside_ = 0;
  bool closed_ = false;
  detail::wait_list closers_;
};

void gate_pass::leave() noexcept {
  if (gate* const owner = std::exchange(gate_, nullptr)) owner->leave();
}

}  // namespace scoll
