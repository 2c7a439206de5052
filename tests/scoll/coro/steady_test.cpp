#include <array>
#include <cstddef>
#include <span>
#include <stdexcept>

#include "scoll/coro/async_queue.hpp"
#include "scoll/coro/completion.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/frame_pool.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/coro/when_any.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/coro/yield.hpp"
#include "stack_probe.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

constexpr int many = 1'000'000;
constexpr std::size_t stack_limit = 4096;

void hold(virtual_executor& on, task<void> body, const stack_probe& probe) {
  run(on, std::move(body));
  CHECK(probe.touches() >= many);
  CHECK(probe.range() < stack_limit);
}

/// Cheaper than an assertion of the framework, a million times.
void must(bool condition) {
  if (!condition) throw std::logic_error("a step of a long run went wrong");
}

task<int> one(stack_probe& probe) {
  probe.touch();
  co_return 1;
}
task<int> nested(stack_probe& probe) {
  const int x = co_await one(probe);
  co_return x + 1;
}
task<void> nothing(stack_probe& probe) {
  probe.touch();
  co_return;
}
task<int> later(stack_probe& probe) {
  co_await yield();
  probe.touch();
  co_return 1;
}
task<status> nap(nanoseconds d, stop_token stop) {
  co_return co_await sleep_for(d, stop);
}

}  // namespace

TEST_CASE("a million tasks that complete at once use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto plain = [&]() -> task<void> {
    int sum = 0;
    for (int i = 0; i < many; ++i) sum += co_await one(probe);
    CHECK(sum == many);
  };
  hold(on, plain(), probe);
  stack_probe deeper;
  auto two_deep = [&]() -> task<void> {
    int sum = 0;
    for (int i = 0; i < many; ++i) sum += co_await nested(deeper);
    CHECK(sum == 2 * many);
  };
  hold(on, two_deep(), deeper);
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
    for (int i = 0; i < many; ++i) {
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
    for (int i = 0; i < many; ++i) {
      const status stopped = co_await permits.acquire(1, source.token());
      const status slept = co_await sleep_for(1h, source.token());
      must(!stopped && !slept);
      probe.touch();
    }
  };
  hold(on, body(), probe);
}

TEST_CASE("a million races and joins of ready tasks use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto body = [&]() -> task<void> {
    for (int i = 0; i < many; ++i) {
      auto both = co_await when_all(one(probe), nothing(probe));
      must(std::get<0>(both) == 1);
      std::array<task<void>, 1> some{nothing(probe)};
      co_await when_all(std::span<task<void>>(some));
    }
    for (int i = 0; i < many; ++i) {
      stop_source source;
      auto race = co_await when_any(source, one(probe), one(probe));
      must(race.index == 0);
    }
  };
  hold(on, body(), probe);
}

TEST_CASE("a million alternations through the executor use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto yielding = [&]() -> task<void> {
    for (int i = 0; i < many / 2; ++i) {
      co_await yield();
      probe.touch();
    }
  };
  auto awaiting = [&]() -> task<void> {
    for (int i = 0; i < many / 2; ++i) (void)co_await later(probe);
  };
  auto body = [&]() -> task<void> { co_await when_all(yielding(), awaiting()); };
  auto ignore = [&]() -> task<void> { co_await body(); };
  hold(on, ignore(), probe);

  stack_probe timed;
  auto sleeping = [&]() -> task<void> {
    for (int i = 0; i < many; ++i) {
      co_await sleep_for(1ns);
      timed.touch();
    }
  };
  hold(on, sleeping(), timed);
}

TEST_CASE("a million handovers between two coroutines use no stack") {
  virtual_executor on;
  stack_probe probe;
  async_queue<int> there(1), back(1);
  auto echo = [&]() -> task<void> {
    while (true) {
      result<int> x = co_await there.pop();
      if (!x) co_return;
      const status s = co_await back.push(*x);
      if (!s) co_return;
      probe.touch();
    }
  };
  auto caller = [&]() -> task<void> {
    for (int i = 0; i < many; ++i) {
      const status s = co_await there.push(i);
      const result<int> x = co_await back.pop();
      must(s && *x == i);
      probe.touch();
    }
    there.close();
  };
  auto body = [&]() -> task<void> {
    scope s;
    s.spawn(echo());
    co_await caller();
    co_await s.join();
  };
  hold(on, body(), probe);
}

TEST_CASE("a million spawned tasks use no stack and no memory") {
  virtual_executor on;
  stack_probe probe;
  auto body = [&]() -> task<void> {
    scope s;
    for (int i = 0; i < many; ++i) {
      s.spawn(nothing(probe));
      if (i % 16 == 15) co_await yield();
    }
    co_await s.join();
  };
  hold(on, body(), probe);
}

TEST_CASE("a steady state allocates nothing") {
  if constexpr (!frame_pool::pooling) return;
  virtual_executor on;
  worker_pool pool({.threads = 1, .queued = 4});
  stack_probe probe;
  async_queue<int> queue(1);
  event turn;
  semaphore permits(0);
  gate entry;
  scope background(on);
  auto echo = [&]() -> task<void> {
    while (true) {
      const result<int> x = co_await queue.pop();
      if (!x) co_return;
      permits.release();
    }
  };
  auto filler = [](completion<int>& slot) -> task<void> {
    co_await yield();
    slot.set(1);
  };
  auto once = [&]() -> task<void> {
    (void)co_await nested(probe);
    (void)co_await later(probe);
    deadline_stop limit(deadline::in(5ns));
    const status late = co_await sleep_for(1h, limit.token());
    const status pushed = co_await queue.push(1);
    co_await permits.acquire();
    const result<gate_pass> pass = entry.enter();
    (void)co_await when_all(later(probe), one(probe));
    std::array<task<void>, 2> two{nothing(probe), nothing(probe)};
    co_await when_all(std::span<task<void>>(two));
    stop_source source;
    auto race = co_await when_any(source, nap(1ns, source.token()), nap(1h, source.token()));
    completion<int> slot;
    scope s;
    s.spawn(filler(slot));
    const result<int> filled = co_await slot.wait();
    co_await s.join();
    const result<int> pooled = co_await pool.run("one", [](const cancel_flag&) { return 1; });
    must(!late && pushed && pass && race.index == 0 && filled && pooled);
  };
  auto body = [&]() -> task<void> {
    for (int i = 0; i < 100; ++i) co_await once();
    const std::size_t before = allocation_counter::on_this_thread();
    for (int i = 0; i < 2000; ++i) co_await once();
    CHECK(allocation_counter::on_this_thread() == before);
    queue.close();
    co_await background.join();
  };
  background.spawn(echo());
  sync_wait(on, body());
}

TEST_CASE("the allocation counter counts") {
  if constexpr (!allocation_counter::counting) return;
  const std::size_t before = allocation_counter::on_this_thread();
  void* const block = ::operator new(1);
  CHECK(allocation_counter::on_this_thread() == before + 1);
  ::operator delete(block);
}
