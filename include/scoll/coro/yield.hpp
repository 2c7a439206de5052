#pragma once

#include <coroutine>

#include "scoll/coro/executor.hpp"

namespace scoll {

/// `co_await yield()` lets everything that is ready already run first. Use it in long computations and in
/// loops that must be fair.
class [[nodiscard]] yield {
 public:
  yield() noexcept = default;
  yield(const yield&) = delete;
  yield& operator=(const yield&) = delete;

  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> handle) noexcept {
    node_.set(handle);
    executor::current().schedule(node_);
  }
  void await_resume() const noexcept {}

 private:
  coroutine_node node_;
};

}  // namespace scoll
