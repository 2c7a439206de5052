#include "scoll/coro/gate.hpp"

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "death.hpp"
#include "scoll/coro/deadline.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;

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
  CHECK(d.message.find("before all users had left") != std::string::npos);
}

TEST_CASE("a wait for a closed gate has a limit, and the gate stays closed") {
  bench b;
  gate g;
  log_of log;
  gate_pass held = g.pass();
  auto closer = [&](const char* who, nanoseconds limit) -> task<void> {
    deadline_stop over(deadline::in(limit));
    const status left = co_await g.close(over.token());
    add(log, who, left);
  };
  b.spawn(closer("past", -1ns));
  b.spawn(closer("short", 5ms));
  b.spawn(closer("long", 1h));
  b.run();
  CHECK(log == log_of{"past:cancelled"});
  b.on.run_for(5ms);
  CHECK(log == log_of{"past:cancelled", "short:cancelled"});
  CHECK(g.closed());
  held.leave();
  b.run();
  CHECK(log == log_of{"past:cancelled", "short:cancelled", "long:ok"});
  CHECK(b.on.idle());
}

TEST_CASE("a gate tells when it is empty without closing") {
  bench b;
  gate g;
  log_of log;
  auto waiter = [&](const char* who, stop_token stop) -> task<void> {
    const status left = co_await g.emptied(stop);
    add(log, who, left);
  };
  stop_source stop;
  gate_pass first = g.pass(), second = g.pass();
  b.spawn(waiter("stopped", stop.token()));
  b.spawn(waiter("waiting", {}));
  b.run();
  stop.request_stop();
  first = gate_pass();
  b.run();
  CHECK(log == log_of{"stopped:cancelled"});
  second.leave();
  second.leave();  // has left already
  const result<gate_pass> again = g.enter();
  CHECK(again);
  b.run();
  CHECK(log == log_of{"stopped:cancelled", "waiting:ok"});
  CHECK(g.inside() == 1);
}

TEST_CASE("what is inside a closed gate may bring in more") {
  bench b;
  gate g;
  log_of log;
  gate_pass held = g.pass();
  auto closer = [&]() -> task<void> {
    co_await g.close();
    log.emplace_back("empty");
  };
  b.spawn(closer());
  b.run();
  CHECK(g.enter().error() == errc::closed);
  gate_pass brought = g.pass();
  held.leave();
  b.run();
  CHECK(log.empty());
  brought.leave();
  b.run();
  CHECK(log == log_of{"empty"});
}
