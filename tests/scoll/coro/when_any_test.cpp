#include "scoll/coro/when_any.hpp"

#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "scoll/coro/event.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/coro/yield.hpp"
#include "tasks.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

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
  CHECK(on.now() - start == 5ms);  // it waited for the one that ignores stops
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
