#include "scoll/coro/waiter.hpp"

#include <memory>
#include <string>

#include "death.hpp"
#include "endurance.hpp"
#include "scoll/coro/async_queue.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

TEST_CASE("a primitive must outlive its waiters") {
  const death d = die([] {
    bench b;
    log_of log;
    auto e = std::make_unique<event>();
    b.spawn(wait_for(*e, "a", log, {}));
    b.run();
    e.reset();
  });
  CHECK(d.message.find("destroyed while coroutines were waiting in it") != std::string::npos);
}

TEST_CASE("a million waits for what is ready use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto body = [&]() -> task<void> {
    event set(true);
    semaphore permits(1);
    async_queue<int> queue(2);
    gate open;
    stop_source source;
    for (int i = 0; i < endurance_rounds; ++i) {
      co_await set.wait();
      const status still_set = co_await set.wait(source.token());
      co_await permits.acquire(1);
      permits.release();
      const status pushed = co_await queue.push(i);
      const result<int> popped = co_await queue.pop();
      must(still_set && pushed && *popped == i);
      probe.touch();
    }
    co_await open.close();
    source.request_stop();
    for (int i = 0; i < endurance_rounds; ++i) {
      const status stopped = co_await permits.acquire(1, source.token());
      const status slept = co_await sleep_for(1h, source.token());
      must(!stopped && !slept);
      probe.touch();
    }
  };
  hold(on, body(), probe);
}
