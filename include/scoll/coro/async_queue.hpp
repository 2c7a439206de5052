#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

/// A bounded first-in first-out queue between coroutines of one thread. `push` waits while the queue is full,
/// `pop` while it is empty. Both are served first come, first served, and values leave in the order in which
/// they were pushed. The queue allocates its memory once. It must outlive its waiters.
template <class T>
class async_queue {
  static_assert(std::is_nothrow_move_constructible_v<T>);

 public:
  /// `capacity` is a number of values and must not be 0.
  explicit async_queue(std::size_t capacity) : capacity_(capacity), slots_(new std::optional<T>[capacity]) {
    SCOLL_ASSERT(capacity > 0, "a queue needs capacity");
  }

  std::size_t size() const noexcept { return size_; }
  std::size_t capacity() const noexcept { return capacity_; }
  bool closed() const noexcept { return closed_; }

  class push_awaiter : protected detail::waiter {
   public:
    template <class U>
    push_awaiter(async_queue& owner, U&& value, stop_token stop)
        : waiter(stop), owner_(&owner), value_(std::forward<U>(value)) {}
    bool await_ready() noexcept {
      if (stopped_before()) return true;
      code_ = owner_->offer(std::move(value_));
      if (code_ != errc::busy) return true;
      code_ = errc::ok;
      return false;
    }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(owner_->pushers_, handle); }
    status await_resume() const noexcept { return code_; }

   private:
    friend class async_queue;
    async_queue* owner_;
    T value_;
  };

  class pop_awaiter : protected detail::waiter {
   public:
    pop_awaiter(async_queue& owner, stop_token stop) noexcept : waiter(stop), owner_(&owner) {}
    bool await_ready() noexcept {
      if (stopped_before()) return true;
      if (owner_->size_ > 0) {
        value_.emplace(owner_->take());
      } else if (owner_->closed_) {
        code_ = errc::closed;
      } else {
        return false;
      }
      return true;
    }
    void await_suspend(std::coroutine_handle<> handle) noexcept { wait_in(owner_->poppers_, handle); }
    result<T> await_resume() noexcept {
      if (code_ != errc::ok) return code_;
      return std::move(*value_);
    }

   private:
    friend class async_queue;
    async_queue* owner_;
    std::optional<T> value_;
  };

  /// Appends `value`; waits while the queue is full. Gives a `status`: `closed` if the queue is closed or
  /// gets closed while the push waits; `cancelled` if the token fires first or has fired already. After an
  /// error the value is lost with the awaiter. An aggregate that owns something must be named and moved: GCC
  /// 12 destroys such temporaries twice.
  [[nodiscard]] push_awaiter push(T&& value, stop_token stop = {}) noexcept {
    return push_awaiter(*this, std::move(value), stop);
  }
  [[nodiscard]] push_awaiter push(const T& value, stop_token stop = {})
    requires std::copy_constructible<T>
  {
    return push_awaiter(*this, value, stop);
  }

  /// Takes the oldest value; waits while the queue is empty. Gives a `result<T>`: `closed` once the queue is
  /// closed and drained; `cancelled` if the token fires first or has fired already. A cancelled `pop` takes
  /// nothing.
  [[nodiscard]] pop_awaiter pop(stop_token stop = {}) noexcept { return {*this, stop}; }

  /// Appends `value` without waiting: `busy` if the queue is full, `closed` if it is closed. It moves from
  /// `value` on success only.
  status try_push(T&& value) noexcept { return offer(std::move(value)); }

  /// Takes the oldest value, or returns `std::nullopt` if the queue is empty.
  std::optional<T> try_pop() noexcept {
    if (size_ == 0) return std::nullopt;
    return take();
  }

  /// Refuses pushes from now on, and ends those that wait with `closed`. Values in the queue can still be
  /// popped.
  void close() noexcept {
    closed_ = true;
    pushers_.wake_all(errc::closed);
    if (size_ == 0) poppers_.wake_all(errc::closed);
  }

 private:
  errc offer(T&& value) noexcept {
    if (closed_) return errc::closed;
    if (!poppers_.empty()) {  // the queue is empty then: the value goes to the longest waiter
      auto& popper = static_cast<pop_awaiter&>(poppers_.front());
      popper.value_.emplace(std::move(value));
      popper.wake();
      return errc::ok;
    }
    if (size_ == capacity_) return errc::busy;
    append(std::move(value));
    return errc::ok;
  }

  void append(T&& value) noexcept {
    slots_[(head_ + size_) % capacity_].emplace(std::move(value));
    ++size_;
  }

  T take() noexcept {
    T value(std::move(*slots_[head_]));
    slots_[head_].reset();
    head_ = (head_ + 1) % capacity_;
    --size_;
    if (!pushers_.empty()) {
      auto& pusher = static_cast<push_awaiter&>(pushers_.front());
      append(std::move(pusher.value_));
      pusher.wake();
    }
    return value;
  }

  std::size_t capacity_;
  std::unique_ptr<std::optional<T>[]> slots_;
  std::size_t head_ = 0;
  std::size_t size_ = 0;
  bool closed_ = false;
  detail::wait_list pushers_;
  detail::wait_list poppers_;
};

}  // namespace scoll
