#include "scoll/coro/yield.hpp"

#include "endurance.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/when_all.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

TEST_CASE("a million alternations through the executor use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto yielding = [&]() -> task<void> {
    for (int i = 0; i < endurance_rounds / 2; ++i) {
      co_await yield();
      probe.touch();
    }
  };
  auto awaiting = [&]() -> task<void> {
    for (int i = 0; i < endurance_rounds / 2; ++i) (void)co_await later(probe);
  };
  auto body = [&]() -> task<void> { co_await when_all(yielding(), awaiting()); };
  auto ignore = [&]() -> task<void> { co_await body(); };
  hold(on, ignore(), probe);

  stack_probe timed;
  auto sleeping = [&]() -> task<void> {
    for (int i = 0; i < endurance_rounds; ++i) {
      co_await sleep_for(1ns);
      timed.touch();
    }
  };
  hold(on, sleeping(), timed);
}
