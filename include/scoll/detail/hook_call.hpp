#pragma once

#include <concepts>
#include <coroutine>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/caught.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::detail {

template <class T>
inline constexpr bool is_task = false;
template <class T>
inline constexpr bool is_task<task<T>> = true;

/// Handles the value of user code that returns a status, or nothing.
struct keep_status {
  static status put(void*, const status& returned) noexcept { return returned; }
};

/// Keeps the value of user code that returns a `Value`, a result of one, or a status; after an ok status the
/// value is default-constructed. `Place::make(into, ...)` constructs it.
template <class Value, class Place>
struct keep_value {
  template <class R>
  static status put(void* into, R&& returned) {
    if constexpr (std::same_as<std::remove_cvref_t<R>, Value>) {
      Place::make(into, std::forward<R>(returned));
      return {};
    } else if constexpr (std::same_as<std::remove_cvref_t<R>, result<Value>>) {
      if (!returned) return returned.error();
      Place::make(into, std::move(*returned));
      return {};
    } else {
      if (returned) Place::make(into);
      return returned;
    }
  }
};

/// The places in which a value is constructed: storage of its size, or an optional.
template <class Value>
struct in_storage {
  template <class... Args>
  static void make(void* at, Args&&... args) {
    new (at) Value(std::forward<Args>(args)...);
  }
};
template <class Value>
struct in_optional {
  template <class... Args>
  static void make(void* at, Args&&... args) {
    static_cast<std::optional<Value>*>(at)->emplace(std::forward<Args>(args)...);
  }
};

/// A call of user code: a hook of a service, or the handler of a function. A plain function has returned by
/// the time its `hook_call` exists, and has cost neither a coroutine frame nor an allocation. A task has yet
/// to run: await it, or start it with a listener. Either way it ends with a status, and an exception becomes
/// an error (`caught`). The object can be moved but not copied. Once started, the call must end before the
/// object is destroyed.
class [[nodiscard]] hook_call {
 public:
  hook_call() noexcept = default;
  hook_call(const status& returned) noexcept : outcome_(returned) {}
  hook_call(hook_call&& other) noexcept { *this = std::move(other); }
  hook_call& operator=(hook_call&& other) noexcept {
    if (this == &other) return *this;
    destroy();
    frame_ = std::exchange(other.frame_, nullptr);
    promise_ = other.promise_;
    take_ = other.take_;
    into_ = other.into_;
    otherwise_ = other.otherwise_;
    started_ = other.started_;
    outcome_ = other.outcome_;
    return *this;
  }
  ~hook_call() { destroy(); }

  /// Calls `code`, which returns a value, a task of one, or nothing. `Place::put(into, value)` turns the
  /// value into a status and keeps the rest of it in `into`; if there is no value, it is passed an ok status.
  /// `otherwise` is the text for an exception that has none.
  template <class Place = keep_status, class Code>
  static hook_call of(const char* otherwise, void* into, Code&& code) noexcept {
    if constexpr (is_task<decltype(code())>) {
      try {
        return {code(), &taken<Place, typename decltype(code())::value_type>, into, otherwise};
      } catch (...) {
        return status(caught(otherwise));
      }
    } else {
      return outcome_of<Place>(otherwise, into, code);
    }
  }

  /// True if no waiting is needed: the code was a plain function, or a task that has ended.
  bool done() const noexcept { return !frame_ || promise_->done(); }
  /// Starts the task. Returns true if it is suspended and will tell `listener`; false if it has ended
  /// already.
  bool start(task_listener& listener) noexcept { return starting().start(frame_, listener); }
  /// Returns the outcome, once the call is done. It takes the value out of the task, so call it once.
  status take() noexcept {
    if (!frame_) return outcome_;
    SCOLL_ASSERT(promise_->done(), "the outcome of a hook was taken before its end");
    return take_(*promise_, into_, otherwise_);
  }

  /// The outcome of a plain function.
  const status& returned() const noexcept {
    SCOLL_ASSERT(!frame_, "a task has not returned before it has run");
    return outcome_;
  }

  class awaiter {
   public:
    explicit awaiter(hook_call& owner) noexcept : owner_(&owner) {}
    bool await_ready() const noexcept { return owner_->done(); }
    bool await_suspend(std::coroutine_handle<> waiter) noexcept {
      return owner_->starting().start(owner_->frame_, waiter);
    }
    status await_resume() noexcept { return owner_->take(); }

   private:
    hook_call* owner_;
  };
  awaiter operator co_await() && noexcept { return awaiter(*this); }

 private:
  using take_function = status (*)(task_promise_base& promise, void* into, const char* otherwise) noexcept;

  template <class T>
  hook_call(task<T> work, take_function how, void* into, const char* otherwise) noexcept
      : take_(how), into_(into), otherwise_(otherwise) {
    const auto handle = task_access::release(work);
    frame_ = handle;
    promise_ = &handle.promise();
  }

  template <class Place, class Code>
  static status outcome_of(const char* otherwise, void* into, Code&& code) noexcept {
    try {
      if constexpr (std::is_void_v<decltype(code())>) {
        code();
        return Place::put(into, status{});
      } else {
        return Place::put(into, code());
      }
    } catch (...) {
      return caught(otherwise);
    }
  }
  template <class Place, class T>
  static status taken(task_promise_base& promise, void* into, const char* otherwise) noexcept {
    return outcome_of<Place>(otherwise, into, [&] { return static_cast<task_promise<T>&>(promise).take(); });
  }

  task_promise_base& starting() noexcept {
    SCOLL_ASSERT(frame_ && !started_, "a hook was started twice, or is not a task");
    started_ = true;
    return *promise_;
  }
  void destroy() noexcept {
    if (!frame_) return;
    SCOLL_ASSERT(!started_ || promise_->done(), "a hook was destroyed before it had ended");
    std::exchange(frame_, nullptr).destroy();
  }

  std::coroutine_handle<> frame_;  // null for a plain function
  task_promise_base* promise_ = nullptr;
  take_function take_ = nullptr;
  void* into_ = nullptr;
  const char* otherwise_ = nullptr;
  bool started_ = false;
  status outcome_;  // the outcome of a plain function
};

}  // namespace scoll::detail
