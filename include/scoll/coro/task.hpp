#pragma once

#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/frame_pool.hpp"

namespace scoll {

template <class T>
class task;

namespace detail {

/// GCC 12 copies temporaries beside a `co_await` bit by bit and destroys both copies. Only these types
/// survive that. (`is_trivially_copyable` would ask the same, but GCC denies it to some closures.)
template <class T>
inline constexpr bool safe_beside_co_await =
    std::is_trivially_copy_constructible_v<T> && std::is_trivially_destructible_v<T>;

/// The coroutine frame that this thread allocated last; see `task_promise_base::frame_is_sound`.
inline constinit thread_local void* latest_frame = nullptr;

/// Is told when a task ends that something other than one awaiting coroutine has started (`when_all`,
/// `scope`, ...).
class task_listener {
 public:
  /// Returns the coroutine to resume, or `std::noop_coroutine()` if there is none.
  using function = std::coroutine_handle<> (*)(task_listener&) noexcept;

  explicit task_listener(function on_end) noexcept : on_end_(on_end) {}
  task_listener(const task_listener&) = delete;
  task_listener& operator=(const task_listener&) = delete;
  std::coroutine_handle<> ended() noexcept { return on_end_(*this); }

 protected:
  ~task_listener() = default;

 private:
  function on_end_;
};

/// The common part of all task promises: pooled frames, the continuation, and whether the awaiter is still on
/// the stack.
class task_promise_base {
 public:
  task_promise_base() noexcept = default;
  task_promise_base(const task_promise_base&) = delete;
  task_promise_base& operator=(const task_promise_base&) = delete;

  static void* operator new(std::size_t size) { return latest_frame = frame_pool::allocate(size); }
  static void operator delete(void* frame, std::size_t size) noexcept { frame_pool::deallocate(frame, size); }

  std::suspend_always initial_suspend() const noexcept { return {}; }

  class final_awaiter {
   public:
    final_awaiter() noexcept = default;
    bool await_ready() const noexcept { return false; }
    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> self) const noexcept {
      return self.promise().finish();
    }
    void await_resume() const noexcept {}
  };
  final_awaiter final_suspend() const noexcept { return {}; }

  /// Starts the task. Returns true if the task is suspended and will resume `continuation` later. Returns
  /// false if it has completed; the awaiter then goes on without having been suspended, so that loops of
  /// synchronous completions use no stack, whether or not the compiler turns symmetric transfer into a jump.
  template <class Promise>
  bool start(std::coroutine_handle<Promise> self, std::coroutine_handle<> continuation) noexcept {
    continuation_ = continuation;
    return run_first(self);
  }
  template <class Promise>
  bool start(std::coroutine_handle<Promise> self, task_listener& listener) noexcept {
    listener_ = &listener;
    return run_first(self);
  }

  bool done() const noexcept { return done_; }

 protected:
  /// Checks every frame for a bug of GCC 12 (PR 106188), which lays the frame out wrongly when a `co_await`
  /// stands in the condition of an `if`, `while` or `switch` of a function without a local at its top level.
  /// The promise is then not where the frame says, and the body would silently never run. The check costs a
  /// thread-local load and a compare.
  template <class Promise>
  static std::coroutine_handle<Promise> frame_is_sound(std::coroutine_handle<Promise> self) noexcept {
#ifndef __clang__
    SCOLL_ASSERT(self.address() == latest_frame,
                 "miscompiled coroutine frame (GCC PR 106188): take co_await out of the condition");
#endif
    return self;
  }

 private:
  template <class Promise>
  bool run_first(std::coroutine_handle<Promise> self) noexcept {
    starting_ = true;
    self.resume();
    starting_ = false;
    return !done_;
  }

  std::coroutine_handle<> finish() noexcept {
    done_ = true;
    if (starting_) return std::noop_coroutine();
    return listener_ != nullptr ? listener_->ended() : continuation_;
  }

  std::coroutine_handle<> continuation_;
  task_listener* listener_ = nullptr;
  bool starting_ = false;
  bool done_ = false;
};

template <class T>
class task_promise final : public task_promise_base {
 public:
  task<T> get_return_object() noexcept;
  template <class U>
    requires std::constructible_from<T, U&&>
  void return_value(U&& value) {
    value_.emplace(std::forward<U>(value));
  }
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  T take() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
    return std::move(*value_);
  }

 private:
  std::optional<T> value_;
  std::exception_ptr exception_;
};

template <>
class task_promise<void> final : public task_promise_base {
 public:
  inline task<void> get_return_object() noexcept;
  void return_void() const noexcept {}
  void unhandled_exception() noexcept { exception_ = std::current_exception(); }

  void take() {
    if (exception_) std::rethrow_exception(std::exchange(exception_, nullptr));
  }

 private:
  std::exception_ptr exception_;
};

struct task_access;

}  // namespace detail

/// A lazy coroutine with one awaiter. Nothing runs before it is awaited; awaiting starts it at once and
/// resumes the awaiter with its value or exception. A task can be moved but not copied. A started task must
/// be awaited to its end: destroying a task that is suspended half-way ends the process; destroying one that
/// never started is allowed.
template <class T = void>
class [[nodiscard]] task {
 public:
  using promise_type = detail::task_promise<T>;
  using value_type = T;

  task() noexcept = default;
  task(task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)), started_(other.started_) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      destroy();
      handle_ = std::exchange(other.handle_, nullptr);
      started_ = other.started_;
    }
    return *this;
  }
  ~task() { destroy(); }

  bool valid() const noexcept { return handle_ != nullptr; }

  class awaiter {
   public:
    explicit awaiter(task& owner) noexcept : owner_(&owner) {}
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> continuation) noexcept {
      SCOLL_ASSERT(owner_->handle_ && !owner_->started_, "a task was awaited twice, or it is empty");
      owner_->started_ = true;
      return owner_->handle_.promise().start(owner_->handle_, continuation);
    }
    T await_resume() { return owner_->handle_.promise().take(); }

   private:
    task* owner_;
  };
  awaiter operator co_await() && noexcept { return awaiter(*this); }

 private:
  friend promise_type;
  friend detail::task_access;
  explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

  void destroy() noexcept {
    if (!handle_) return;
    SCOLL_ASSERT(!started_ || handle_.done(), "a task was destroyed before it had ended");
    std::exchange(handle_, nullptr).destroy();
  }

  std::coroutine_handle<promise_type> handle_;
  bool started_ = false;
};

namespace detail {

template <class T>
task<T> task_promise<T>::get_return_object() noexcept {
  return task<T>(frame_is_sound(std::coroutine_handle<task_promise>::from_promise(*this)));
}
task<void> task_promise<void>::get_return_object() noexcept {
  return task<void>(frame_is_sound(std::coroutine_handle<task_promise>::from_promise(*this)));
}

/// For code that drives tasks by listeners instead of awaiting them.
struct task_access {
  /// Starts `t`. Returns true if the task is suspended and will tell `listener`; false if it has completed
  /// already, and then the listener is not told.
  template <class T>
  static bool start(task<T>& t, task_listener& listener) noexcept {
    SCOLL_ASSERT(t.handle_ && !t.started_, "a task was started twice, or it is empty");
    t.started_ = true;
    return t.handle_.promise().start(t.handle_, listener);
  }
  /// Takes the coroutine out of a task that has not been started, and leaves the task empty.
  template <class T>
  static std::coroutine_handle<task_promise<T>> release(task<T>& t) noexcept {
    SCOLL_ASSERT(t.handle_ && !t.started_, "a task was started twice, or it is empty");
    return std::exchange(t.handle_, nullptr);
  }
  /// Returns the value of a task that has ended, or throws its exception.
  template <class T>
  static T take(task<T>& t) {
    return t.handle_.promise().take();
  }
  template <class T>
  static bool done(const task<T>& t) noexcept {
    return t.handle_ && t.handle_.promise().done();
  }
};

}  // namespace detail
}  // namespace scoll
