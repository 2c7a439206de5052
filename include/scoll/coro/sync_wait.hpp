#pragma once

#include <chrono>
#include <concepts>
#include <coroutine>
#include <utility>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {
namespace detail {

/// A task that is started from outside its executor's turns.
template <class T>
class root_task final : private ready_node, private task_listener {
 public:
  root_task(executor& home, task<T>&& work) noexcept
      : ready_node(&start), task_listener(&ended), home_(home), work_(std::move(work)) {
    SCOLL_ASSERT(executor::current_or_null() != &home, "an executor was driven from within its own turn");
    home.schedule(*this);
  }
  ~root_task() { home_.unschedule(*this); }
  const bool& done() const noexcept { return done_; }
  T take() { return task_access::take(work_); }

 private:
  static void start(ready_node& node) noexcept {
    auto& self = static_cast<root_task&>(node);
    if (!task_access::start(self.work_, self)) self.done_ = true;
  }
  static std::coroutine_handle<> ended(task_listener& listener) noexcept {
    static_cast<root_task&>(listener).done_ = true;
    return std::noop_coroutine();
  }

  executor& home_;
  task<T> work_;
  bool done_ = false;
};

}  // namespace detail

/// Runs `work` on an executor in virtual time (a `virtual_executor`) until it has ended, and returns its
/// value or throws its exception. Timers that others have armed for later stay armed. The process ends if
/// nothing is left that could ever wake the task.
template <std::derived_from<executor> Virtual, class T>
  requires requires(Virtual& on, const bool& done) {
    { on.run_step(done) } -> std::same_as<bool>;
  }
T run(Virtual& on, task<T> work) {
  detail::root_task<T> root(on, std::move(work));
  while (!root.done()) {
    const bool more = on.run_step(root.done());
    SCOLL_ASSERT(more, "deadlock in virtual time: nothing is left that could wake the task");
  }
  return root.take();
}

/// Runs `work` on `driver`, an executor with a `run_once(longest_wait)`, until it has ended. Returns its
/// value or throws its exception.
template <std::derived_from<executor> Driver, class T>
T sync_wait(Driver& driver, task<T> work) {
  constexpr nanoseconds longest_wait = std::chrono::hours(1);
  detail::root_task<T> root(driver, std::move(work));
  while (!root.done()) driver.run_once(longest_wait);
  return root.take();
}

}  // namespace scoll
