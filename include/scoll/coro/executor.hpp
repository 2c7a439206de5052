#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "scoll/coro/ready_node.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/timer.hpp"

namespace scoll {

/// Work that another thread hands to an executor. The object must live until `run` has been called on the
/// executor's thread.
class posted_node {
 public:
  using function = void (*)(posted_node&) noexcept;

  explicit posted_node(function work) noexcept : work_(work) {}
  posted_node(const posted_node&) = delete;
  posted_node& operator=(const posted_node&) = delete;
  void run() noexcept { work_(*this); }

  posted_node* next = nullptr;  ///< used by the executor that carries the node

 protected:
  ~posted_node() = default;

 private:
  function work_;
};

/// Runs the work of one thread: it has a ready list, timers and a clock. A coroutine waits on exactly one
/// executor, which also resumes it. Only `post` and `runs_here` may be called from another thread. Derived
/// classes drive the executor: the reactor in production, `virtual_executor` in tests and simulation.
class executor {
 public:
  virtual ~executor() = default;
  executor(const executor&) = delete;
  executor& operator=(const executor&) = delete;

  /// The present time; it never goes back. A production executor reads its clock once per turn, so times
  /// within one turn are equal.
  virtual time_point now() const noexcept = 0;

  /// The time at this very moment, which also passes within a turn. It costs a reading of the clock.
  virtual time_point exact_now() const noexcept { return now(); }

  /// Runs `node` on this executor's thread; may be called from any thread. The work may destroy this
  /// executor: the destructor waits for calls of `post` that have not returned.
  virtual void post(posted_node& node) noexcept = 0;

  /// The processor time that this executor's thread has used so far. Only the difference between two calls on
  /// that thread has a meaning. Always 0 where work takes no time.
  virtual nanoseconds processor_time() const noexcept { return nanoseconds(0); }

  /// Hands batched I/O to the operating system now instead of at the end of the turn. Call it before work
  /// that takes long.
  virtual void flush_io() noexcept {}
  /// Likewise, and lets other threads that wait for this processor go first. Call it before work that is
  /// less urgent than what has just been handed over. It does nothing more where nobody waits.
  virtual void give_way() noexcept {}

  /// Ends the process with a message if this is not the thread that last ran a turn. Before the first turn
  /// any thread may use the executor, to set things up.
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

  /// Runs `node` at the end of the current turn, once the ready list is empty. Use it to flush what was
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

  /// The executor whose turn is running on this thread. Calling it outside of a turn ends the process.
  static executor& current() noexcept;
  static executor* current_or_null() noexcept;

  /// True on the thread that ran the latest turn of this executor, within a turn or between two of them. May
  /// be called from any thread.
  bool runs_here() const noexcept {
    return thread_.load(std::memory_order_relaxed) == __builtin_thread_pointer();
  }

 protected:
  executor() noexcept = default;

  /// Marks this executor as the current one while its turn runs.
  class turn {
   public:
    explicit turn(executor& self) noexcept;
    ~turn();
    turn(const turn&) = delete;
    turn& operator=(const turn&) = delete;

   private:
    executor* previous_;
  };

  /// Runs at most `limit` nodes: due timers first, then ready nodes, and the late list once the ready list is
  /// empty. Returns how many ran.
  std::size_t run_ready(std::size_t limit) noexcept;
  bool has_ready() const noexcept { return !ready_.empty() || !late_.empty(); }
  time_point next_timer() const noexcept { return timers_.earliest(); }

 private:
  ready_list ready_;
  ready_list late_;
  timer_heap timers_;
  std::atomic<const void*> thread_{nullptr};  ///< the thread that ran the latest turn
};

}  // namespace scoll
