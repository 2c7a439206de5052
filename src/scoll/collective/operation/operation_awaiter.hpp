#pragma once

#include <coroutine>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/stop.hpp"

namespace scoll::detail {

/// Starts an operation and waits for its answer.
class operation_awaiter {
 public:
  operation_awaiter(operation& op, stop_token stop) noexcept : op_(op), stop_(stop) {}
  bool await_ready() const noexcept { return false; }
  void await_suspend(std::coroutine_handle<> waiter) { op_.start(waiter, stop_); }
  void await_resume() const noexcept {}

 private:
  operation& op_;
  stop_token stop_;
};

}  // namespace scoll::detail
