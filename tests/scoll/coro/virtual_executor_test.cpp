#include "transport/sim/virtual_executor.hpp"

#include <cstdint>
#include <vector>

#include "logging_nodes.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

TEST_CASE("virtual time stands still while anything is ready and then jumps") {
  std::vector<int> log;
  virtual_executor on(at(100));
  logging_timer a(log, 1), b(log, 2), c(log, 3);
  CHECK(on.idle());
  on.arm(a, at(250));
  on.arm(b, at(200));
  on.arm(c, at(50));
  CHECK_FALSE(on.idle());
  CHECK(on.run_now() == 1);
  CHECK(on.now() == at(100));
  CHECK(on.run_until(at(199)) == 0);
  CHECK(on.now() == at(199));
  CHECK(on.run_for(1ns) == 1);
  CHECK(on.now() == at(200));
  CHECK(on.run_until_idle() == 1);
  CHECK(on.now() == at(250));
  CHECK(on.run_until(at(10)) == 0);
  CHECK(on.now() == at(250));
  CHECK(log == std::vector{3, 2, 1});
  on.arm(a, never);
  CHECK(on.run_until_idle() == 0);
  on.disarm(a);
}

TEST_CASE("a run is bounded by its limit, and timers that are due are not held back by what is ready") {
  class eager final : public ready_node {
   public:
    explicit eager(executor& on) : ready_node(&again), on_(&on) {}

   private:
    static void again(ready_node& self) noexcept {
      auto& node = static_cast<eager&>(self);
      node.on_->schedule(node);
    }
    executor* on_;
  };
  std::vector<int> log;
  virtual_executor on(at(0));
  eager node(on);
  logging_timer due(log, 1);
  on.schedule(node);
  CHECK(on.run_until_idle(1000) == 1000);
  on.arm(due, on.now());
  CHECK(on.run_until_idle(1) == 1);
  CHECK(log == std::vector{1});
  on.unschedule(node);
}

TEST_CASE("equal seeds give equal runs in virtual time") {
  const auto simulate = [](std::uint64_t seed) {
    random_generator random(seed);
    bench b;
    std::vector<std::int64_t> trace;
    semaphore s(3);
    auto worker = [&](int id) -> task<void> {
      for (int i = 0; i < 50; ++i) {
        deadline_stop limit(deadline::in(nanoseconds(random.below(100))));
        const std::size_t n = 1 + random.below(3);
        const status got = co_await s.acquire(n, limit.token());
        trace.push_back(b.on.now().time_since_epoch().count() * 100 + id * 2 + (got ? 1 : 0));
        if (!got) continue;
        co_await sleep_for(nanoseconds(random.below(50)));
        s.release(n);
      }
    };
    for (int id = 0; id < 10; ++id) b.spawn(worker(id));
    b.on.run_until_idle();
    CHECK(s.available() == 3);
    return trace;
  };
  const auto first = simulate(1);
  CHECK(first.size() == 500);
  CHECK(first == simulate(1));
  CHECK(first != simulate(2));
}
