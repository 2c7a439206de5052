#include "scoll/coro/sleep.hpp"

#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;

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
    after.request_stop();  // the other's timer has fired too, but it has not resumed
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
