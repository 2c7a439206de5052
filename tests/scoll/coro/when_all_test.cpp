#include "scoll/coro/when_all.hpp"

#include <array>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "endurance.hpp"
#include "scoll/coro/when_any.hpp"
#include "tasks.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;
using namespace std::chrono_literals;

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

TEST_CASE("a million races and joins of ready tasks use no stack") {
  virtual_executor on;
  stack_probe probe;
  auto body = [&]() -> task<void> {
    for (int i = 0; i < endurance_rounds; ++i) {
      auto both = co_await when_all(one(probe), nothing(probe));
      must(std::get<0>(both) == 1);
      std::array<task<void>, 1> some{nothing(probe)};
      co_await when_all(std::span<task<void>>(some));
    }
    for (int i = 0; i < endurance_rounds; ++i) {
      stop_source source;
      auto race = co_await when_any(source, one(probe), one(probe));
      must(race.index == 0);
    }
  };
  hold(on, body(), probe);
}
