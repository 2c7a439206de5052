#pragma once

#include <coroutine>
#include <cstddef>
#include <utility>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

/// Background work with an end: tasks are spawned into a scope, and the scope must be joined before it is
/// destroyed. Destroying a scope that had tasks and was not joined ends the process, and so does a spawned
/// task that throws: tasks report failures by value. A scope belongs to one executor and must not move.
class scope {
 public:
  /// The scope belongs to the executor that is current at the first `spawn`. It passes a stop of `parent` on
  /// to its tasks.
  explicit scope(stop_token parent = {}) noexcept : parent_(&parent_stopped, this) {
    parent_.connect(parent);
  }
  explicit scope(executor& home, stop_token parent = {}) noexcept : scope(parent) { executor_ = &home; }
  ~scope();
  scope(const scope&) = delete;
  scope& operator=(const scope&) = delete;

  /// Starts `work` in a later step of the executor. Tasks can be spawned until `join` has returned.
  void spawn(task<void> work);

  /// The token that tasks should listen to. It fires when the scope or its parent is asked to stop.
  stop_token token() noexcept { return stop_.token(); }
  bool request_stop() noexcept { return stop_.request_stop(); }
  bool stop_requested() const noexcept { return stop_.stop_requested(); }

  /// The number of tasks that have not ended.
  std::size_t running() const noexcept { return tasks_.inside(); }
  /// `co_await s.idle(stop)` waits until no task runs and gives a `status`: `cancelled` if the token fires
  /// first or has fired already. Tasks may be spawned meanwhile and later.
  [[nodiscard]] gate::stoppable_awaiter idle(stop_token stop) noexcept { return tasks_.emptied(stop); }

  class join_awaiter final : private ready_node {
   public:
    explicit join_awaiter(scope& owner) noexcept : ready_node(&woken), owner_(&owner) {}
    ~join_awaiter() = default;
    bool await_ready() noexcept { return owner_->finish_join(); }
    void await_suspend(std::coroutine_handle<> handle) noexcept;
    void await_resume() const noexcept {}

   private:
    friend class scope;
    static void woken(ready_node& self) noexcept;

    scope* owner_;
    std::coroutine_handle<> handle_;
  };

  /// Waits until every task has ended, including tasks spawned meanwhile. It does not ask them to stop. Call
  /// it once.
  [[nodiscard]] join_awaiter join() noexcept { return join_awaiter(*this); }
  /// Joins if no task is running. Returns false if one is.
  [[nodiscard]] bool try_join() noexcept { return finish_join(); }

 private:
  class spawned;

  static void parent_stopped(void* self) noexcept { static_cast<scope*>(self)->request_stop(); }
  bool finish_join() noexcept {
    if (tasks_.empty()) joined_ = true;
    return joined_;
  }
  void one_ended() noexcept;

  executor* executor_ = nullptr;
  gate tasks_;
  bool used_ = false;
  bool joined_ = false;
  join_awaiter* joiner_ = nullptr;
  stop_source stop_;
  stop_callback parent_;
};

}  // namespace scoll
