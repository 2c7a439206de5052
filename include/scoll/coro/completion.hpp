#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "scoll/coro/result.hpp"
#include "scoll/coro/waiter.hpp"

namespace scoll {

/// A slot that callbacks or another coroutine fill once, and that one coroutine awaits. A cancelled wait may
/// be repeated: the value stays until it is taken. The completion belongs to one thread and must outlive its
/// waiter.
template <class T = void>
class completion {
 public:
  using stored = std::conditional_t<std::is_void_v<T>, std::monostate, T>;

  /// True once the slot has been filled, even if the value has been taken since.
  bool is_set() const noexcept { return set_; }

  /// Fills the slot. Filling it twice ends the process.
  template <class... Args>
  void set(Args&&... args) {
    SCOLL_ASSERT(!set_, "a completion was set twice");
    value_.emplace(std::forward<Args>(args)...);
    set_ = true;
    waiters_.wake_all();
  }

  class awaiter : protected detail::waiter {
   public:
    awaiter(completion& owner, stop_token stop) noexcept : waiter(stop), owner_(&owner) {}
    bool await_ready() noexcept { return stopped_before() || owner_->set_; }
    void await_suspend(std::coroutine_handle<> handle) noexcept {
      SCOLL_ASSERT(owner_->waiters_.empty(), "a completion has one waiter");
      wait_in(owner_->waiters_, handle);
    }
    as_result_t<T> await_resume() {
      if (code_ != errc::ok) return code_;
      return owner_->take();
    }

   private:
    completion* owner_;
  };

  /// Waits until the slot is filled and moves the value out of it. Gives a `result<T>`, or `T` itself if that
  /// is a result; `cancelled` if the token fires first or has fired already.
  [[nodiscard]] awaiter wait(stop_token stop = {}) noexcept { return {*this, stop}; }

 private:
  as_result_t<T> take() {
    SCOLL_ASSERT(value_.has_value(), "the value of a completion was taken twice");
    if constexpr (std::is_void_v<T>) {
      value_.reset();
      return {};
    } else {
      as_result_t<T> value(std::move(*value_));
      value_.reset();
      return value;
    }
  }

  std::optional<stored> value_;
  bool set_ = false;
  detail::wait_list waiters_;
};

}  // namespace scoll
