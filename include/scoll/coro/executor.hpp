#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/timer.hpp"

namespace scoll {

/// Work handed over from another thread. The object must live until `run` has been called on the executor's
/// thread.
class posted_node {
 public:
  using function = void (*)(posted_node&) noexcept;

  explicit posted_node(function work) noexcept : work_(work) {}
  posted_node(const posted_node&) = delete;
  posted_node& operator=(const posted_node&) = delete;
  void run() noexcept { work_(*this); }

  posted_node* next = nullptr;  ///< for the executor that carries it

 protected:
  ~posted_node() = default;

 private:
  function work_;
};

/// One thread's worth of work: a ready list, timers and a clock. Everything awaits on, and is resumed by,
/// exactly one executor; nothing but `post` may be called from another thread. Derived classes drive it: the
/// reactor in production, `virtual_executor` in tests and simulation.
class executor {
 public:
  virtual ~executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// Monotonic. A production executor reads its clock once per turn; times within one turn are equal.
  virtual time_point now() const noexcept = 0;

  /// Runs `node` on this executor's thread, from any thread. The only thread-safe member. What runs may end
  /// this executor: its destructor waits for calls of `post` that have not returned.
  virtual void post(posted_node& node) noexcept = 0;

  /// How long a processor has worked for this executor's thread so far; the difference of two calls on that
  /// thread counts. Always 0 where work takes no time.
  virtual nanoseconds processor_time() const noexcept { return nanoseconds(0); }

  /// Hands batched I/O to the operating system now, instead of at the end of the turn: before work that takes
  /// long.
  virtual void flush_io() noexcept {}

  /// Ends the process with a message if this is not the thread that last ran a turn. Before the first turn any
  /// thread may set things up.
  void expect_own_thread() const noexcept {
    SCOLL_ASSERT(
        thread_.load(std::memory_order_relaxed) == nullptr || runs_here(),
        "an executor, or a node on it, was used from another thread than its own: hand the work over "
        "with executor::post or run_and_wait");
  }

  /// Runs `node` after everything that is ready already.
  void schedule(ready_node& node) noexcept {
    expect_own_thread();
    ready_.push(node);
  }
  void unschedule(ready_node& node) noexcept { ready_.remove(node); }

  /// Runs `node` at the end of the current turn, after the ready list has run dry: for flushing what was
  /// batched.
  void schedule_late(ready_node& node) noexcept {
    expect_own_thread();
    late_.push(node);
  }
  void unschedule_late(ready_node& node) noexcept { late_.remove(node); }

  void arm(timer_node& node, time_point at) noexcept {
    expect_own_thread();
    timers_.insert(node, at);
  }
  void disarm(timer_node& node) noexcept { timers_.remove(node); }

  /// The executor whose turn is running on this thread; a broken invariant elsewhere.
  static executor& current() noexcept;
  static executor* current_or_null() noexcept;

  /// True on the thread that ran the latest turn of this executor, within a turn or between two of them. From
  /// any thread.
  bool runs_here() const noexcept {
    return thread_.load(std::memory_order_relaxed) == __builtin_thread_pointer();
  }

 protected:
  executor() noexcept = default;

  /// Marks this executor as the current one for the time of its turn.
  class turn {
   public:
    explicit turn(executor& self) noexcept;
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

   private:
    executor* previous_;
  };

  /// Runs ready nodes and due timers, at most `limit` of them, then the late list once the ready list is dry.
  /// Timers that are due go first. Returns how many ran.
  std::size_t run_ready(std::size_t limit) noexcept;
  bool has_ready() const noexcept { return !ready_.empty() || !late_.empty(); }
  time_point next_timer() const noexcept { return timers_.earliest(); }

 private:
  ready_list ready_;
  ready_list late_;
  timer_heap timers_;
  std::atomic<const void*> thread_{nullptr};  ///< that ran the latest turn
};

}  // namespace scoll
