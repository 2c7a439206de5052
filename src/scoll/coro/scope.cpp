#include "scoll/coro/scope.hpp"

#include <cstdio>
#include <exception>
#include <new>

#include "scoll/coro/frame_pool.hpp"

namespace scoll {

/// A task in a scope: first the node that starts it, then the listener for its end.
class scope::spawned final : private ready_node, private detail::task_listener {
 public:
  spawned(scope& owner, task<void>&& work) noexcept
      : ready_node(&start),
        task_listener(&ended),
        owner_(&owner),
        in_scope_(owner.tasks_.pass()),
        work_(std::move(work)) {
    owner.executor_->schedule(*this);
  }

  static void* operator new(std::size_t size) { return frame_pool::allocate(size); }
  static void operator delete(void* block, std::size_t size) noexcept { frame_pool::deallocate(block, size); }

 private:
  static void start(ready_node& node) noexcept {
    auto& self = static_cast<spawned&>(node);
    if (!detail::task_access::start(self.work_, self)) self.finish();
  }
  static std::coroutine_handle<> ended(task_listener& listener) noexcept {
    static_cast<spawned&>(listener).finish();
    return std::noop_coroutine();
  }

  void finish() noexcept {
    try {
      detail::task_access::take(work_);
    } catch (const std::exception& e) {
      char message[256];
      std::snprintf(message, sizeof message, "a spawned task threw: %s", e.what());
      SCOLL_ASSERT(false, message);
    } catch (...) {
      SCOLL_ASSERT(false, "a spawned task threw something other than a std::exception");
    }
    scope& owner = *owner_;
    delete this;
    owner.one_ended();
  }

  scope* owner_;
  gate_pass in_scope_;
  task<void> work_;
};

scope::~scope() {
  SCOLL_ASSERT(!used_ || joined_, "a scope was destroyed without having been joined");
}

void scope::spawn(task<void> work) {
  SCOLL_ASSERT(!joined_, "a task was spawned into a scope that has been joined");
  SCOLL_ASSERT(work.valid(), "an empty task was spawned");
  if (executor_ == nullptr) executor_ = &executor::current();
  used_ = true;
  new spawned(*this, std::move(work));
}

void scope::one_ended() noexcept {
  if (tasks_.empty() && joiner_ != nullptr) executor_->schedule(*std::exchange(joiner_, nullptr));
}

void scope::join_awaiter::await_suspend(std::coroutine_handle<> handle) noexcept {
  SCOLL_ASSERT(owner_->joiner_ == nullptr, "a scope was joined twice");
  handle_ = handle;
  owner_->joiner_ = this;
}

// Checks again, because work that became ready before the joiner may have spawned more tasks.
void scope::join_awaiter::woken(ready_node& self) noexcept {
  auto& join = static_cast<join_awaiter&>(self);
  if (join.owner_->finish_join()) {
    join.handle_.resume();
  } else {
    join.owner_->joiner_ = &join;
  }
}

}  // namespace scoll
