#pragma once

#include <coroutine>

#include "scoll/coro/error.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/stop.hpp"

namespace scoll::detail {

class wait_list;

/// A coroutine suspended in a primitive: a place in the wait list, a stop callback and the executor that
/// resumes it. It lives in the awaiter. It leaves the list exactly once, woken by the primitive or cancelled
/// by its token.
class waiter : public list_hook<> {
 public:
  explicit waiter(stop_token token) noexcept : token_(token), stop_(&cancelled, this) {}
  waiter(const waiter&) = delete;
  waiter& operator=(const waiter&) = delete;

  /// Removes the waiter from its list. Its coroutine resumes in a later step of its executor, with `code`.
  inline void wake(errc code = errc::ok) noexcept;

 protected:
  ~waiter() { SCOLL_ASSERT(!linked(), "a coroutine was destroyed while it was waiting"); }

  /// True if the token has fired: the operation is over before it began, and nothing has changed.
  bool stopped_before() noexcept {
    if (token_.stop_requested()) code_ = errc::cancelled;
    return code_ != errc::ok;
  }
  inline void wait_in(wait_list& list, std::coroutine_handle<> handle) noexcept;

  errc code_ = errc::ok;

 private:
  static inline void cancelled(void* self) noexcept;

  coroutine_node node_;
  executor* executor_ = nullptr;
  stop_token token_;
  stop_callback stop_;
  wait_list* list_ = nullptr;
};

/// A first-in first-out list of waiters. A primitive passes a function if it must act when a waiter gives up,
/// because those behind that waiter may be served now.
class wait_list {
 public:
  using function = void (*)(wait_list&) noexcept;

  explicit wait_list(function left = nullptr) noexcept : left_(left) {}
  ~wait_list() { SCOLL_ASSERT(empty(), "a primitive was destroyed while coroutines were waiting in it"); }
  wait_list(const wait_list&) = delete;
  wait_list& operator=(const wait_list&) = delete;

  bool empty() const noexcept { return waiters_.empty(); }
  waiter& front() noexcept { return waiters_.front(); }
  void wake_all(errc code = errc::ok) noexcept {
    while (!empty()) front().wake(code);
  }

 private:
  friend class waiter;

  intrusive_list<waiter> waiters_;
  function left_;
};

void waiter::wake(errc code) noexcept {
  unlink();
  stop_.disconnect();
  code_ = code;
  executor_->schedule(node_);
}

void waiter::wait_in(wait_list& list, std::coroutine_handle<> handle) noexcept {
  node_.set(handle);
  executor_ = &executor::current();
  list_ = &list;
  list.waiters_.push_back(*this);
  stop_.connect(token_);
}

void waiter::cancelled(void* self) noexcept {
  auto& w = *static_cast<waiter*>(self);
  wait_list& list = *w.list_;
  w.wake(errc::cancelled);
  if (list.left_ != nullptr) list.left_(list);
}

}  // namespace scoll::detail
