#include "scoll/coro/completion.hpp"

#include <memory>
#include <string>

#include "death.hpp"
#include "scoll/coro/sleep.hpp"
#include "steps.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;

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
