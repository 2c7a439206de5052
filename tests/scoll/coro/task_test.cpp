#include "scoll/coro/task.hpp"

#include <array>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "death.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/when_all.hpp"
#include "scoll/coro/when_any.hpp"
#include "scoll/coro/yield.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

namespace {

task<int> value_of(int x) {
  co_return x;
}
task<int> later(int x, nanoseconds d) {
  co_await sleep_for(d);
  co_return x;
}
task<int> thrower(nanoseconds d, const char* what) {
  if (d > 0ns) co_await sleep_for(d);
  throw std::runtime_error(what);
}
task<void> note(std::vector<int>& log, int number, nanoseconds d) {
  if (d > 0ns) co_await sleep_for(d);
  log.push_back(number);
}
task<status> stoppable(nanoseconds d, stop_token stop) {
  co_return co_await sleep_for(d, stop);
}
task<status> answers_at_once(stop_token) {
  co_return status();
}
task<std::string> deaf(nanoseconds d) {
  co_await sleep_for(d);
  co_return "done";
}

// PR 106188, hidden from the linter that looks for it.
#define IN_CONDITION(...) (__VA_ARGS__)
task<bool> truth() {
  co_return true;
}
task<void> awaits_in_a_condition(int& executed) {
  if IN_CONDITION (co_await truth()) ++executed;
}

/// Says when it was destroyed, and that it was destroyed once.
class tracer {
 public:
  explicit tracer(int& live) : live_(&live) { ++*live_; }
  tracer(tracer&& other) noexcept : live_(other.live_) { ++*live_; }
  tracer& operator=(tracer&&) = delete;
  ~tracer() { --*live_; }

 private:
  int* live_;
};

}  // namespace

TEST_CASE("a task runs when it is awaited, not before, and need not be awaited") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<void> {
    task<void> unused = note(log, 9, 0ns);
    task<void> t = note(log, 1, 0ns);
    CHECK(log.empty());
    co_await std::move(t);
    CHECK(log == std::vector{1});
    CHECK(unused.valid());
  };
  run(on, body());
  CHECK(log == std::vector{1});
}

TEST_CASE("a task gives its value, now or later") {
  virtual_executor on;
  auto body = [&]() -> task<std::string> {
    const int a = co_await value_of(2);
    const int b = co_await later(3, 5ms);
    std::unique_ptr<int> p = co_await [](int x) -> task<std::unique_ptr<int>> {
      co_await yield();
      co_return std::make_unique<int>(x);
    }(a * b);
    co_return std::to_string(*p);
  };
  const time_point start = on.now();
  CHECK(run(on, body()) == "6");
  CHECK(on.now() - start == 5ms);
}

TEST_CASE("an exception goes to the awaiter, whether thrown before or after a suspension") {
  virtual_executor on;
  auto body = [&]() -> task<std::string> {
    std::string all;
    for (const nanoseconds d : {0ns, nanoseconds(5ms)}) {
      try {
        (void)co_await thrower(d, "broken");
      } catch (const std::runtime_error& e) {
        all += e.what();
      }
    }
    co_return all;
  };
  CHECK(run(on, body()) == "brokenbroken");
  CHECK_THROWS_AS(run(on, thrower(1ms, "x")), std::runtime_error);
}

TEST_CASE("what a task owns dies once, with its frame") {
  virtual_executor on;
  int live = 0;
  auto consumer = [](tracer t, bool wait) -> task<tracer> {
    if (wait) co_await yield();
    co_return std::move(t);
  };
  auto body = [&]() -> task<void> {
    for (const bool wait : {false, true}) {
      tracer mine(live);
      task<tracer> t = consumer(std::move(mine), wait);
      tracer back = co_await std::move(t);
      CHECK(live >= 2);
      const task<tracer> never_started = consumer(std::move(back), wait);
    }
  };
  run(on, body());
  CHECK(live == 0);
}

TEST_CASE("moving a task moves its coroutine") {
  virtual_executor on;
  task<int> a = value_of(1);
  task<int> b = std::move(a);
  CHECK_FALSE(a.valid());  // NOLINT(bugprone-use-after-move): what is tested
  task<int> c = value_of(2);
  c = std::move(b);
  const int value = run(on, std::move(c));
  CHECK(value == 1);
}

TEST_CASE("awaiting a task twice, or destroying one that runs, is a broken invariant") {
  const death twice = die([] {
    virtual_executor on;
    auto body = []() -> task<void> {
      task<int> t = value_of(1);
      (void)co_await std::move(t);
      (void)co_await std::move(t);  // NOLINT(bugprone-use-after-move): what is tested
    };
    run(on, body());
  });
  CHECK(twice.message.find("a task is awaited once") != std::string::npos);
  const death abandoned = die([] {
    virtual_executor on;
    const detail::root_task<int> root(on, later(1, 1s));
    on.run_now();
  });
  CHECK(abandoned.message.find("a task was destroyed while it runs") != std::string::npos);
}

TEST_CASE("a run that nothing can wake is a deadlock in virtual time") {
  const death d = die([] {
    virtual_executor on;
    event e;
    auto body = [&]() -> task<void> { co_await e.wait(); };
    run(on, body());
  });
  CHECK(d.message.find("deadlock in virtual time") != std::string::npos);
  const death nested = die([] {
    virtual_executor on;
    auto body = [&]() -> task<int> { co_return run(on, value_of(1)); };
    (void)run(on, body());
  });
  CHECK(nested.message.find("within its own turn") != std::string::npos);
}

TEST_CASE("a run ends with its task and leaves later timers alone") {
  virtual_executor on;
  scope background(on);
  std::vector<int> log;
  background.spawn(note(log, 1, 1h));
  const time_point start = on.now();
  CHECK(run(on, later(4, 1ms)) == 4);
  CHECK(on.now() - start == 1ms);
  CHECK(sync_wait(on, later(5, 1ms)) == 5);
  CHECK(log.empty());
  auto join = [&]() -> task<void> { co_await background.join(); };
  run(on, join());
  CHECK(on.now() - start == 1h);
}

TEST_CASE("when_all runs all and gives all values in order") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<void> {
    auto mixed = co_await when_all(later(1, 3ms), note(log, 1, 2ms), value_of(2), deaf(1ms));
    CHECK(std::get<0>(mixed) == 1);
    CHECK(std::get<2>(mixed) == 2);
    CHECK(std::get<3>(mixed) == "done");

    auto ready = co_await when_all(value_of(5), value_of(6));
    CHECK(ready == std::tuple(5, 6));

    std::vector<task<int>> many;
    for (int i = 0; i < 10; ++i) many.push_back(i % 2 == 0 ? value_of(i) : later(i, nanoseconds(100 - i)));
    const std::vector<int> values = co_await when_all(std::move(many));
    CHECK(values == std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9});

    std::array<task<void>, 3> some;
    for (int i = 0; i < 3; ++i) some[static_cast<std::size_t>(i)] = note(log, 10 + i, nanoseconds(9 - i));
    co_await when_all(std::span<task<void>>(some));

    std::vector<task<void>> none;
    co_await when_all(std::move(none));
    (void)co_await when_all();
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() - start == 3ms + 99ns + 9ns);
  CHECK(log == std::vector{1, 12, 11, 10});
}

TEST_CASE("when_all throws after all have ended") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<std::string> {
    std::string all;
    try {
      (void)co_await when_all(note(log, 1, 9ms), thrower(5ms, "first"), thrower(0ns, "second"));
    } catch (const std::runtime_error& e) {
      all += e.what();
    }
    CHECK(log == std::vector{1});
    std::vector<task<int>> many;
    many.push_back(later(1, 4ms));
    many.push_back(thrower(1ms, " third"));
    try {
      (void)co_await when_all(std::move(many));
    } catch (const std::runtime_error& e) {
      all += e.what();
    }
    co_return all;
  };
  const time_point start = on.now();
  CHECK(run(on, body()) == "first third");
  CHECK(on.now() - start == 13ms);
}

TEST_CASE("when_any tells the winner, stops the others and awaits them") {
  virtual_executor on;
  auto body = [&]() -> task<void> {
    stop_source source;
    auto race = co_await when_any(source, stoppable(9ms, source.token()), stoppable(2ms, source.token()),
                                  deaf(5ms), stoppable(7ms, source.token()));
    CHECK(race.index == 1);
    CHECK(std::get<0>(race.all).error() == errc::cancelled);
    CHECK(std::get<1>(race.all));
    CHECK(std::get<2>(race.all) == "done");
    CHECK(std::get<3>(race.all).error() == errc::cancelled);
    CHECK(source.stop_requested());
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() - start == 5ms);  // the deaf one was waited for
}

TEST_CASE("when_any with a winner at once starts the others with a token that has fired") {
  virtual_executor on;
  auto body = [&]() -> task<void> {
    stop_source source;
    auto race = co_await when_any(source, answers_at_once(source.token()), stoppable(1h, source.token()));
    CHECK(race.index == 0);
    CHECK(std::get<1>(race.all).error() == errc::cancelled);
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() == start);
}

TEST_CASE("when_any of many, one or throwing tasks") {
  virtual_executor on;
  auto body = [&]() -> task<void> {
    stop_source source;
    std::vector<task<status>> many;
    for (int i = 0; i < 10; ++i) many.push_back(stoppable(nanoseconds(i == 7 ? 5 : 100), source.token()));
    auto race = co_await when_any(source, std::move(many));
    CHECK(race.index == 7);
    for (std::size_t i = 0; i < 10; ++i) CHECK(race.all[i].has_value() == (i == 7));

    stop_source lonely;
    std::vector<task<int>> one;
    one.push_back(value_of(3));
    auto alone = co_await when_any(lonely, std::move(one));
    CHECK(alone.index == 0);
    CHECK(alone.all == std::vector{3});

    stop_source thrown;
    std::string what;
    try {
      (void)co_await when_any(thrown, stoppable(1h, thrown.token()), thrower(1ms, "lost"));
    } catch (const std::runtime_error& e) {
      what = e.what();
    }
    CHECK(what == "lost");
    CHECK(thrown.stop_requested());
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() - start == 1ms + 5ns);
}

TEST_CASE("when_any makes its tasks with a token that its winner or a parent fires") {
  virtual_executor on;
  nanoseconds patience = 5ms;
  auto body = [&]() -> task<void> {
    stop_source parent;
    auto slow = [&patience](stop_token stop) { return stoppable(patience * 100, stop); };
    auto coroutine = [&patience](stop_token stop) -> task<status> {
      co_await yield();
      co_return co_await sleep_for(patience, stop);
    };
    auto won = co_await when_any(parent.token(), slow, coroutine);
    CHECK(won.index == 1);
    CHECK(std::get<0>(won.all).error() == errc::cancelled);
    CHECK_FALSE(parent.stop_requested());

    scope helpers;
    auto stop_later = [&]() -> task<void> {
      co_await sleep_for(1ms);
      parent.request_stop();
    };
    helpers.spawn(stop_later());
    auto stopped = co_await when_any(parent.token(), slow, coroutine);
    CHECK(std::get<0>(stopped.all).error() == errc::cancelled);
    CHECK(std::get<1>(stopped.all).error() == errc::cancelled);
    auto before = co_await when_any(parent.token(), slow, coroutine);
    CHECK(std::get<0>(before.all).error() == errc::cancelled);
    co_await helpers.join();
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() - start == 6ms);
}

TEST_CASE("a scope runs what is spawned, in order, and joins all of it") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<void> {
    scope s;
    for (int i = 0; i < 3; ++i) s.spawn(note(log, i, 0ns));
    s.spawn(note(log, 3, 2ms));
    CHECK(log.empty());  // never inside spawn
    CHECK(s.running() == 4);
    co_await s.join();
    CHECK(s.running() == 0);
  };
  run(on, body());
  CHECK(log == std::vector{0, 1, 2, 3});

  auto unused = [&]() -> task<void> {
    scope never_used;
    scope joined_empty;
    co_await joined_empty.join();
  };
  run(on, unused());
}

TEST_CASE("a join waits for tasks spawned meanwhile") {
  virtual_executor on;
  std::vector<int> log;
  auto body = [&]() -> task<void> {
    scope s;
    event last_began;
    auto grandchild = [&]() -> task<void> {
      co_await sleep_for(1ms);
      log.push_back(2);
    };
    auto by_event = [&]() -> task<void> {
      co_await last_began.wait();
      s.spawn(grandchild());  // the join has been scheduled by now
      log.push_back(1);
    };
    auto child = [&]() -> task<void> {
      last_began.set();
      co_return;
    };
    scope helpers;
    helpers.spawn(by_event());
    co_await yield();
    s.spawn(child());
    co_await s.join();
    log.push_back(3);
    co_await helpers.join();
  };
  run(on, body());
  CHECK(log == std::vector{1, 2, 3});
}

TEST_CASE("a scope passes a stop on to its tasks") {
  virtual_executor on;
  auto body = [&]() -> task<void> {
    stop_source parent;
    scope s(parent.token());
    int cancelled = 0;
    auto child = [&]() -> task<void> {
      const status slept = co_await sleep_for(1h, s.token());
      if (!slept && slept.error() == errc::cancelled) ++cancelled;
    };
    s.spawn(child());
    s.spawn(child());
    co_await yield();
    co_await yield();
    parent.request_stop();
    CHECK(s.stop_requested());
    s.spawn(child());
    co_await s.join();
    CHECK(cancelled == 3);
    scope late(parent.token());
    CHECK(late.stop_requested());
    CHECK_FALSE(late.request_stop());
  };
  const time_point start = on.now();
  run(on, body());
  CHECK(on.now() == start);
}

TEST_CASE("a scope must be joined, its tasks must not throw, and nothing is spawned after the join") {
  const death unjoined = die([] {
    virtual_executor on;
    std::vector<int> log;
    auto body = [&]() -> task<void> {
      scope s;
      s.spawn(note(log, 1, 0ns));
      co_await sleep_for(1ms);  // ended, but not joined
    };
    run(on, body());
  });
  CHECK(unjoined.aborted);
  CHECK(unjoined.message.find("without having been joined") != std::string::npos);

  const death threw = die([] {
    virtual_executor on;
    auto bad = []() -> task<void> {
      co_await yield();
      throw std::runtime_error("out of cheese");
    };
    auto body = [&]() -> task<void> {
      scope s;
      s.spawn(bad());
      co_await s.join();
    };
    run(on, body());
  });
  CHECK(threw.aborted);
  CHECK(threw.message.find("a spawned task threw: out of cheese") != std::string::npos);

  const death late = die([] {
    virtual_executor on;
    std::vector<int> log;
    auto body = [&]() -> task<void> {
      scope s;
      co_await s.join();
      s.spawn(note(log, 1, 0ns));
    };
    run(on, body());
  });
  CHECK(late.message.find("has been joined") != std::string::npos);
}

TEST_CASE("a frame that GCC 12 lays out wrongly is caught when it is made") {
  const death d = die([] {
    virtual_executor on;
    int executed = 0;
    run(on, awaits_in_a_condition(executed));
    SCOLL_ASSERT(executed == 1, "the body silently never ran");
  });
  if (d.aborted) CHECK(d.message.find("miscompiled coroutine frame") != std::string::npos);
}
