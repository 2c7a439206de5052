#include "scoll/coro/scope.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "death.hpp"
#include "endurance.hpp"
#include "scoll/coro/event.hpp"
#include "tasks.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

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

TEST_CASE("a million spawned tasks use no stack and no memory") {
  virtual_executor on;
  stack_probe probe;
  auto body = [&]() -> task<void> {
    scope s;
    for (int i = 0; i < endurance_rounds; ++i) {
      s.spawn(nothing(probe));
      if (i % 16 == 15) co_await yield();
    }
    co_await s.join();
  };
  hold(on, body(), probe);
}
