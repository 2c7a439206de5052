#include "scoll/coro/async_queue.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "endurance.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/sleep.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;

namespace {

task<void> push_one(async_queue<int>& q, int x, const char* who, log_of& log, stop_token stop) {
  const status s = co_await q.push(x, stop);
  add(log, who, s);
}

task<void> pop_one(async_queue<int>& q, const char* who, log_of& log, stop_token stop) {
  const result<int> x = co_await q.pop(stop);
  log.push_back(std::string(who) + ":" + (x ? std::to_string(*x) : std::string(to_string(x.error().code()))));
}

}  // namespace

TEST_CASE("a queue hands values on in order, and waiters are served in order") {
  bench b;
  async_queue<int> q(2);
  log_of log;
  b.spawn(pop_one(q, "p1", log, {}));
  b.spawn(pop_one(q, "p2", log, {}));
  b.run();
  CHECK(q.try_push(1));
  CHECK(q.try_push(2));
  CHECK(q.size() == 0);  // both went to the waiting readers
  CHECK(q.try_push(3));
  CHECK(log.empty());
  CHECK(q.try_pop() == 3);  // a newcomer cannot take their items
  b.run();
  CHECK(log == log_of{"p1:1", "p2:2"});

  log.clear();
  for (int i = 0; i < 5; ++i) b.spawn(push_one(q, i, "push", log, {}));
  b.run();
  CHECK(log == log_of{"push:ok", "push:ok"});
  CHECK(q.size() == 2);
  CHECK(q.try_push(9).error() == errc::busy);
  for (int i = 0; i < 5; ++i) CHECK(q.try_pop() == i);
  CHECK_FALSE(q.try_pop());
  b.run();
  CHECK(log == log_of(5, "push:ok"));
}

TEST_CASE("queue waits are cancelled before, during and not after") {
  bench b;
  async_queue<int> q(1);
  log_of log;
  stop_source before, during, after;
  before.request_stop();
  b.spawn(pop_one(q, "pop before", log, before.token()));
  b.spawn(pop_one(q, "pop during", log, during.token()));
  b.spawn(pop_one(q, "pop after", log, after.token()));
  b.run();
  during.request_stop();
  b.run();
  CHECK(log == log_of{"pop before:cancelled", "pop during:cancelled"});
  CHECK(q.try_push(1));
  after.request_stop();
  b.run();
  CHECK(log.back() == "pop after:1");

  log.clear();
  stop_source during_push, after_push;
  CHECK(q.try_push(1));
  b.spawn(pop_one(q, "stopped pop of a value", log, before.token()));
  b.spawn(push_one(q, 2, "push before", log, before.token()));
  b.spawn(push_one(q, 3, "push during", log, during_push.token()));
  b.spawn(push_one(q, 4, "push after", log, after_push.token()));
  b.run();
  CHECK(log == log_of{"stopped pop of a value:cancelled", "push before:cancelled"});
  during_push.request_stop();
  b.run();
  CHECK(log.back() == "push during:cancelled");
  CHECK(q.try_pop() == 1);
  after_push.request_stop();
  b.run();
  CHECK(log.back() == "push after:ok");
  CHECK(q.try_pop() == 4);
  CHECK_FALSE(q.try_pop());
}

TEST_CASE("a closed queue refuses pushes, lets pops drain it, and wakes all") {
  bench b;
  log_of log;
  async_queue<int> full(1);
  CHECK(full.try_push(1));
  b.spawn(push_one(full, 2, "push", log, {}));
  b.run();
  full.close();
  b.run();
  CHECK(log == log_of{"push:closed"});
  CHECK(full.closed());
  CHECK(full.try_push(3).error() == errc::closed);
  b.spawn(push_one(full, 4, "late", log, {}));
  b.spawn(pop_one(full, "pop", log, {}));
  b.spawn(pop_one(full, "pop", log, {}));
  b.run();
  CHECK(log == log_of{"push:closed", "late:closed", "pop:1", "pop:closed"});

  log.clear();
  async_queue<int> empty(1);
  b.spawn(pop_one(empty, "a", log, {}));
  b.spawn(pop_one(empty, "b", log, {}));
  b.run();
  empty.close();
  empty.close();
  b.run();
  CHECK(log == log_of{"a:closed", "b:closed"});
}

TEST_CASE("a queue holds what can only be moved, and destroys what is left") {
  bench b;
  auto counted = std::make_shared<int>(1);
  {
    async_queue<std::shared_ptr<int>> q(4);
    auto body = [&]() -> task<void> {
      for (int i = 0; i < 3; ++i) {
        std::shared_ptr<int> copy = counted;
        const status s = co_await q.push(std::move(copy));
        CHECK(s);
        CHECK_FALSE(copy);
      }
      const result<std::shared_ptr<int>> one = co_await q.pop();
      CHECK(one->get() == counted.get());
    };
    run(b.on, body());
    CHECK(counted.use_count() == 3);
  }
  CHECK(counted.use_count() == 1);
  async_queue<std::unique_ptr<int>> movable(1);
  CHECK(movable.try_push(std::make_unique<int>(1)));
  auto refused = std::make_unique<int>(2);
  CHECK(movable.try_push(std::move(refused)).error() == errc::busy);
  CHECK(refused);  // moved from on success only
}

TEST_CASE("many producers and consumers with random cancels lose and invent nothing") {
  random_generator random(11);
  bench b;
  async_queue<int> q(3);
  std::vector<int> pushed, popped;
  int next = 0;
  auto producer = [&]() -> task<void> {
    for (int i = 0; i < 200; ++i) {
      deadline_stop limit(deadline::in(nanoseconds(random.below(20))));
      const int mine = next++;
      const status s = co_await q.push(mine, limit.token());
      if (s) pushed.push_back(mine);
      co_await sleep_for(nanoseconds(random.below(10)));
    }
  };
  auto consumer = [&]() -> task<void> {
    while (true) {
      deadline_stop limit(deadline::in(nanoseconds(random.below(20))));
      const result<int> x = co_await q.pop(limit.token());
      if (x) popped.push_back(*x);
      if (!x && x.error() == errc::closed) co_return;
      co_await sleep_for(nanoseconds(random.below(10)));
    }
  };
  auto body = [&]() -> task<void> {
    scope producers;
    for (int i = 0; i < 5; ++i) producers.spawn(producer());
    for (int i = 0; i < 4; ++i) b.spawn(consumer());
    co_await producers.join();
    q.close();
  };
  run(b.on, body());
  b.on.run_until_idle();
  CHECK(next == 1000);
  CHECK(pushed.size() > 500);
  std::sort(pushed.begin(), pushed.end());
  std::sort(popped.begin(), popped.end());
  CHECK(pushed == popped);
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
    for (int i = 0; i < endurance_rounds; ++i) {
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
