#pragma once

#include <cstddef>
#include <stdexcept>
#include <utility>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/yield.hpp"
#include "stack_probe.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll {

inline constexpr int endurance_rounds = 1'000'000;
inline constexpr std::size_t stack_limit = 4096;

/// Runs a million steps of `body`, which touch the probe, and checks that the stack depth hardly varies.
inline void hold(testing::virtual_executor& on, task<void> body, const stack_probe& probe) {
  run(on, std::move(body));
  CHECK(probe.touches() >= endurance_rounds);
  CHECK(probe.range() < stack_limit);
}

/// Cheaper than an assertion of the framework, a million times.
inline void must(bool condition) {
  if (!condition) throw std::logic_error("a step of a long run went wrong");
}

inline task<int> one(stack_probe& probe) {
  probe.touch();
  co_return 1;
}
inline task<int> nested(stack_probe& probe) {
  const int x = co_await one(probe);
  co_return x + 1;
}
inline task<void> nothing(stack_probe& probe) {
  probe.touch();
  co_return;
}
inline task<int> later(stack_probe& probe) {
  co_await yield();
  probe.touch();
  co_return 1;
}

}  // namespace scoll
