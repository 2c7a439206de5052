#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "scoll/coro/caught.hpp"
#include "scoll/coro/executor.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// Tells a function on a worker that its result is no longer wanted. The function may test the flag as often
/// as it likes, or never.
class cancel_flag {
 public:
  bool requested() const noexcept { return requested_.load(std::memory_order_relaxed); }
  void request() noexcept { requested_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> requested_{false};
};

namespace detail {

class pool_state;
class pool_waiter;

/// A function with its result and its awaiter. The job belongs to the awaiter, unless the function was still
/// running at the limit of a shutdown. Then it belongs to its worker, which destroys it when the function
/// returns.
class pool_job : public list_hook<> {
 public:
  explicit pool_job(const char* called) noexcept : name(called) {}
  virtual ~pool_job() = default;
  virtual void execute() noexcept = 0;

  static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { frame_pool::deallocate(block, size); }

  const char* name;
  cancel_flag flag;
  pool_waiter* waiter = nullptr;  ///< null once abandoned; guarded by the pool's mutex
};

/// A coroutine that waits for a job.
class pool_waiter : private posted_node {
 public:
  pool_waiter(std::shared_ptr<pool_state> pool, std::unique_ptr<pool_job> job, stop_token token) noexcept;
  pool_waiter(const pool_waiter&) = delete;
  pool_waiter& operator=(const pool_waiter&) = delete;

  bool await_ready() noexcept;
  bool await_suspend(std::coroutine_handle<> handle) noexcept;

 protected:
  ~pool_waiter() = default;
  /// Why the function did not run.
  error refusal() const noexcept;

  std::unique_ptr<pool_job> job_;
  errc code_ = errc::ok;

 private:
  friend class pool_state;

  static void stopped(void* self) noexcept;
  static void arrived(posted_node& self) noexcept;

  std::shared_ptr<pool_state> pool_;
  executor* home_ = nullptr;
  coroutine_node node_;
  stop_token token_;
  stop_callback stop_;
};

template <class F>
decltype(auto) call_pooled(F& function, const cancel_flag& flag) {
  if constexpr (std::invocable<F&, const cancel_flag&>) {
    return function(flag);
  } else {
    return function();
  }
}

template <class F>
class pool_job_of final : public pool_job {
 public:
  using value_type =
      std::remove_cvref_t<decltype(call_pooled(std::declval<F&>(), std::declval<cancel_flag&>()))>;
  using result_type = as_result_t<value_type>;

  template <class G>
  pool_job_of(const char* label, G&& fn) : pool_job(label), function_(std::forward<G>(fn)) {}

  void execute() noexcept override {
    try {
      if constexpr (std::is_void_v<value_type>) {
        call_pooled(function_, flag);
        result_.emplace();
      } else {
        result_.emplace(call_pooled(function_, flag));
      }
    } catch (...) {
      result_.emplace(caught("the function threw"));
    }
  }
  result_type take() { return std::move(*result_); }

 private:
  F function_;
  std::optional<result_type> result_;
};

}  // namespace detail

/// The bounds of a worker pool.
struct worker_pool_options {
  /// The number of threads, at least 1.
  std::size_t threads = 2;
  /// The number of functions that may wait for a thread, at least 1.
  std::size_t queued = 64;
};

/// Threads for functions that compute for long or block, so that the executor's thread never does. A function
/// that does not return holds up only its thread and its awaiter; the pool's shutdown has a limit. Several
/// executors may use one pool, which must be shut down or destroyed before any of them.
class worker_pool {
 public:
  /// Starts the threads. Throws `std::system_error` if a thread cannot be started.
  explicit worker_pool(worker_pool_options options = {});
  /// Shuts the pool down with limit zero, without reporting which functions were still running.
  ~worker_pool();
  worker_pool(const worker_pool&) = delete;
  worker_pool& operator=(const worker_pool&) = delete;

  template <class F>
  class [[nodiscard]] run_awaiter;

  /// `co_await pool.run(name, f)` calls `f(const cancel_flag&)`, or `f()`, on a worker and resumes on the
  /// awaiting executor. It gives a `result<R>`, or `R` itself if `f` returns a result. Errors: `busy` (the
  /// queue is full); `hook_failed` with the exception's text, or the error of a `failure` (`f` threw);
  /// `cancelled` (the token fired before `f` had begun); `closed` (the pool was shut down before `f` had
  /// begun, or `f` was still running at the shutdown's limit). A token that fires later sets the flag, and
  /// the result is what `f` then returns.
  ///
  /// `f` must own what it touches, because it may outlive everything at a shutdown; `name` must live as long
  /// as the program. A temporary must be trivially copyable (GCC 12 destroys others twice); a named function
  /// is copied.
  template <class F>
  run_awaiter<std::decay_t<F>> run(const char* name, F&& function, stop_token stop = {}) {
    static_assert(std::is_lvalue_reference_v<F> || detail::safe_beside_co_await<std::decay_t<F>>,
                  "name the function object, and pass it to run() or run_moved()");
    return run_awaiter<std::decay_t<F>>(state_, name, std::forward<F>(function), stop);
  }
  /// Like `run`, for a named function that is moved from.
  template <class F>
  run_awaiter<F> run_moved(const char* name, F& named, stop_token stop = {}) {
    return run_awaiter<F>(state_, name, std::move(named), stop);
  }

  /// Begins no more functions, asks the running ones to stop, and waits for them at most `limit` of the
  /// executor's time. Returns the names of the functions that are still running. These keep their detached
  /// threads, and what they own, until they return or the program ends; their awaiters resume with `closed`.
  /// It only blocks for threads that are about to end.
  task<std::vector<const char*>> shutdown(nanoseconds limit);

 private:
  std::vector<const char*> abandon();

  std::shared_ptr<detail::pool_state> state_;
  std::vector<std::jthread> threads_;
};

template <class F>
class worker_pool::run_awaiter : public detail::pool_waiter {
  using job = detail::pool_job_of<F>;

 public:
  template <class G>
  run_awaiter(const std::shared_ptr<detail::pool_state>& pool, const char* label, G&& fn, stop_token stop)
      : pool_waiter(pool, std::make_unique<job>(label, std::forward<G>(fn)), stop) {}

  typename job::result_type await_resume() {
    if (code_ != errc::ok) return refusal();
    return static_cast<job&>(*job_).take();
  }
};

}  // namespace scoll
