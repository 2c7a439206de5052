#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "death.hpp"
#include "scoll/coro/async_queue.hpp"
#include "scoll/coro/completion.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/gate.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/yield.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

/// A virtual executor with a scope; `run` gives every ready thing its turn without moving time.
class bench {
 public:
  bench() : tasks(on) {}
  ~bench() {
    auto join = [this]() -> task<void> { co_await tasks.join(); };
    scoll::run(on, join());
  }
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;

  void spawn(task<void> t) { tasks.spawn(std::move(t)); }
  void run() { on.run_now(); }

  virtual_executor on;
  scope tasks;
};

using log_of = std::vector<std::string>;

void add(log_of& log, const char* who, const status& s) {
  log.push_back(std::string(who) + ":" + std::string(s ? "ok" : to_string(s.error().code())));
}

task<void> wait_for(event& e, const char* who, log_of& log, stop_token stop) {
  const status s = co_await e.wait(stop);
  add(log, who, s);
}

task<void> take(semaphore& s, std::size_t n, const char* who, log_of& log, stop_token stop) {
  const status got = co_await s.acquire(n, stop);
  add(log, who, got);
}

task<void> push_one(async_queue<int>& q, int x, const char* who, log_of& log, stop_token stop) {
  const status s = co_await q.push(x, stop);
  add(log, who, s);
}

task<void> pop_one(async_queue<int>& q, const char* who, log_of& log, stop_token stop) {
  const result<int> x = co_await q.pop(stop);
  log.push_back(std::string(who) + ":" + (x ? std::to_string(*x) : std::string(to_string(x.error().code()))));
}

}  // namespace

TEST_CASE("an event wakes its waiters in order, in a later step, and stays set") {
  bench b;
  event e;
  log_of log;
  b.spawn(wait_for(e, "a", log, {}));
  b.spawn(wait_for(e, "b", log, {}));
  b.run();
  CHECK(log.empty());
  e.set();
  CHECK(log.empty());  // never inline
  e.reset();
  b.run();
  CHECK(log == log_of{"a:ok", "b:ok"});
  CHECK_FALSE(e.is_set());
  b.spawn(wait_for(e, "c", log, {}));
  b.run();
  CHECK(log.size() == 2);
  e.set();
  b.spawn(wait_for(e, "d", log, {}));
  b.run();
  CHECK(log == log_of{"a:ok", "b:ok", "c:ok", "d:ok"});
}

TEST_CASE("an event wait is cancelled before, during and not after") {
  bench b;
  event e;
  log_of log;
  stop_source before, during, after;
  before.request_stop();
  b.spawn(wait_for(e, "before", log, before.token()));
  b.spawn(wait_for(e, "during", log, during.token()));
  b.spawn(wait_for(e, "after", log, after.token()));
  b.spawn(wait_for(e, "other", log, {}));
  b.run();
  CHECK(log == log_of{"before:cancelled"});
  during.request_stop();
  CHECK(log.size() == 1);
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled"});
  e.set();
  after.request_stop();  // woken already, not resumed yet: what happened stands
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "after:ok", "other:ok"});
  b.spawn(wait_for(e, "set, but stopped", log, before.token()));
  b.run();
  CHECK(log.back() == "set, but stopped:cancelled");
}

TEST_CASE("a completion carries one value to one waiter, early or late") {
  bench b;
  auto body = [&]() -> task<void> {
    completion<std::unique_ptr<int>> early;
    early.set(std::make_unique<int>(1));
    CHECK(early.is_set());
    result<std::unique_ptr<int>> first = co_await early.wait();
    CHECK(**first == 1);

    completion<std::string> late;
    auto filler = [&]() -> task<void> {
      co_await sleep_for(1ms);
      late.set(3u, 'x');
    };
    b.spawn(filler());
    const result<std::string> second = co_await late.wait();
    CHECK(*second == "xxx");

    completion<result<int>> flat;
    flat.set(errc::busy);
    const result<int> third = co_await flat.wait();
    CHECK(third.error() == errc::busy);

    completion<> empty;
    empty.set();
    const status fourth = co_await empty.wait();
    CHECK(fourth);
  };
  run(b.on, body());
}

TEST_CASE("a cancelled wait leaves a completion's value for the next") {
  bench b;
  auto body = [&]() -> task<void> {
    stop_source source;
    completion<int> slot;
    auto stopper = [&]() -> task<void> {
      source.request_stop();
      co_return;
    };
    b.spawn(stopper());
    const result<int> during = co_await slot.wait(source.token());
    CHECK(during.error() == errc::cancelled);
    slot.set(5);
    const result<int> before = co_await slot.wait(source.token());
    CHECK(before.error() == errc::cancelled);
    const result<int> taken = co_await slot.wait();
    CHECK(*taken == 5);

    stop_source late;
    completion<int> raced;
    auto both = [&]() -> task<void> {
      raced.set(6);
      late.request_stop();
      co_return;
    };
    b.spawn(both());
    const result<int> after = co_await raced.wait(late.token());
    CHECK(*after == 6);
  };
  run(b.on, body());
}

TEST_CASE("a completion is set once and has one waiter") {
  CHECK(die([] {
          completion<int> slot;
          slot.set(1);
          slot.set(2);
        }).message.find("set twice") != std::string::npos);
  CHECK(die([] {
          bench b;
          completion<> slot;
          auto waiter = [&]() -> task<void> { (void)co_await slot.wait(); };
          b.spawn(waiter());
          b.spawn(waiter());
          b.run();
        }).message.find("has one waiter") != std::string::npos);
}

TEST_CASE("a primitive must outlive its waiters") {
  const death d = die([] {
    bench b;
    log_of log;
    auto e = std::make_unique<event>();
    b.spawn(wait_for(*e, "a", log, {}));
    b.run();
    e.reset();
  });
  CHECK(d.message.find("destroyed while coroutines wait in it") != std::string::npos);
}

TEST_CASE("sleep ends on time, always gives way, and is cancelled before, during and not after") {
  bench b;
  log_of log;
  auto sleeper = [&](const char* who, nanoseconds d, stop_token stop) -> task<void> {
    const status s = co_await sleep_for(d, stop);
    add(log, who, s);
  };
  stop_source before, during, after;
  before.request_stop();
  auto stop_at_the_same_time = [&]() -> task<void> {
    co_await sleep_for(2ms);
    log.emplace_back("now");
    after.request_stop();  // the other's timer has fired too, but it has not gone on
  };
  b.spawn(stop_at_the_same_time());
  b.spawn(sleeper("before", 1ms, before.token()));
  b.spawn(sleeper("during", 1h, during.token()));
  b.spawn(sleeper("after", 2ms, after.token()));
  b.spawn(sleeper("forever", nanoseconds::max(), during.token()));
  b.run();
  CHECK(log == log_of{"before:cancelled"});
  b.on.run_for(1ms);
  during.request_stop();
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "forever:cancelled"});
  b.on.run_for(1ms);
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "forever:cancelled", "now", "after:ok"});

  log.clear();
  auto past = [&](const char* who) -> task<void> {
    co_await sleep_until(b.on.now() - 1s);
    log.emplace_back(who);
    co_await sleep_for(0ns);
    log.emplace_back(who);
    co_await sleep_for(-1ns);
    log.emplace_back(who);
  };
  b.spawn(past("x"));
  b.spawn(past("y"));
  b.run();
  CHECK(log == log_of{"x", "y", "x", "y", "x", "y"});
}

TEST_CASE("a deadline stop fires by time, parent or hand, and knows which") {
  bench b;
  auto body = [&]() -> task<void> {
    const error cancelled(errc::cancelled, "recv");
    {
      deadline_stop by_time(deadline::in(5ms));
      CHECK(by_time.reason() == errc::ok);
      CHECK(by_time.explain(cancelled) == errc::cancelled);
      const status s = co_await sleep_for(1h, by_time.token());
      CHECK(s.error() == errc::cancelled);
      CHECK(by_time.stop_requested());
      CHECK(by_time.reason() == errc::deadline_exceeded);
      CHECK(by_time.explain(cancelled) == error(errc::deadline_exceeded, "recv"));
      CHECK(by_time.explain(errc::busy) == errc::busy);
      CHECK_FALSE(by_time.request_stop());
      CHECK(by_time.reason() == errc::deadline_exceeded);
    }
    {
      stop_source parent;
      deadline_stop by_parent(deadline::in(5ms), parent.token());
      auto stopper = [&]() -> task<void> {
        co_await sleep_for(1ms);
        parent.request_stop();
      };
      b.spawn(stopper());
      const status s = co_await sleep_for(1h, by_parent.token());
      CHECK(s.error() == errc::cancelled);
      CHECK(by_parent.reason() == errc::cancelled);
      CHECK(by_parent.explain(cancelled) == cancelled);
      co_await sleep_for(10ms);
      CHECK(by_parent.reason() == errc::cancelled);

      deadline_stop after_parent(deadline::in(-1ms), parent.token());
      CHECK(after_parent.reason() == errc::cancelled);
    }
    deadline_stop late(deadline(b.on.now()));
    CHECK(late.reason() == errc::deadline_exceeded);
    deadline_stop by_hand{deadline()};
    CHECK(by_hand.request_stop());
    CHECK(by_hand.reason() == errc::cancelled);
    deadline_stop in_time(deadline::in(1h));
    CHECK_FALSE(in_time.stop_requested());
  };
  const time_point start = b.on.now();
  run(b.on, body());
  CHECK(b.on.now() - start == 16ms);
  CHECK(b.on.idle());
}

TEST_CASE("a semaphore serves first come first served, and small requests do not overtake") {
  bench b;
  semaphore s(2);
  log_of log;
  b.spawn(take(s, 2, "a", log, {}));
  b.spawn(take(s, 3, "big", log, {}));
  b.spawn(take(s, 1, "small", log, {}));
  b.run();
  CHECK(log == log_of{"a:ok"});
  CHECK(s.has_waiters());
  CHECK_FALSE(s.try_acquire(0));
  s.release(2);
  CHECK(s.available() == 2);
  CHECK_FALSE(s.try_acquire(1));
  b.run();
  CHECK(log.size() == 1);
  s.release(1);
  b.run();
  CHECK(log == log_of{"a:ok", "big:ok"});
  s.release(3);
  b.run();
  CHECK(log == log_of{"a:ok", "big:ok", "small:ok"});
  CHECK(s.available() == 2);
  CHECK(s.try_acquire(2));
  CHECK_FALSE(s.try_acquire());
}

TEST_CASE("a semaphore wait is cancelled before, during and not after, and those behind it go on") {
  bench b;
  semaphore s(1);
  log_of log;
  stop_source before, during, after;
  before.request_stop();
  b.spawn(take(s, 1, "before", log, before.token()));
  b.spawn(take(s, 5, "during", log, during.token()));
  b.spawn(take(s, 1, "behind", log, {}));
  b.spawn(take(s, 1, "after", log, after.token()));
  b.run();
  CHECK(log == log_of{"before:cancelled"});
  CHECK(s.available() == 1);
  during.request_stop();
  b.run();
  CHECK(log == log_of{"before:cancelled", "during:cancelled", "behind:ok"});
  CHECK(s.available() == 0);
  s.release();
  after.request_stop();
  b.run();
  CHECK(log.back() == "after:ok");
  CHECK(s.available() == 0);
}

TEST_CASE("a gate lets in until it is closed and awaits those inside") {
  bench b;
  log_of log;
  gate g;
  std::optional<gate_pass> held;
  {
    result<gate_pass> first = g.enter();
    REQUIRE(first);
    result<gate_pass> second = g.enter();
    REQUIRE(second);
    held = std::move(*second);
    CHECK(g.inside() == 2);
    gate_pass moved = std::move(*first);
    CHECK(moved);
    moved = gate_pass();
    CHECK_FALSE(moved);
  }
  CHECK(g.inside() == 1);
  auto closer = [&](const char* who) -> task<void> {
    co_await g.close();
    log.emplace_back(who);
  };
  CHECK_FALSE(g.closed());
  b.spawn(closer("a"));
  b.spawn(closer("b"));
  b.run();
  CHECK(g.closed());
  CHECK(log.empty());
  CHECK(g.enter().error() == errc::closed);
  held.reset();
  CHECK(log.empty());
  b.run();
  CHECK(log == log_of{"a", "b"});
  b.spawn(closer("c"));
  b.run();
  CHECK(log.back() == "c");
  const death d = die([] {
    auto dying = std::make_unique<gate>();
    auto pass = dying->enter();
    dying.reset();
  });
  CHECK(d.message.find("someone is inside") != std::string::npos);
}

TEST_CASE("a queue hands values on in order, and waiters are served in order") {
  bench b;
  async_queue<int> q(2);
  log_of log;
  b.spawn(pop_one(q, "p1", log, {}));
  b.spawn(pop_one(q, "p2", log, {}));
  b.run();
  CHECK(q.try_push(1));
  CHECK(q.try_push(2));
  CHECK(q.size() == 0);  // both went to who waited
  CHECK(q.try_push(3));
  CHECK(log.empty());
  CHECK(q.try_pop() == 3);  // and a newcomer cannot steal theirs
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
