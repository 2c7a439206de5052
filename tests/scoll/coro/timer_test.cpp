#include "scoll/coro/timer.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "death.hpp"
#include "logging_nodes.hpp"
#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using scoll::testing::virtual_executor;

TEST_CASE("timers of equal times fire in the order in which they were armed") {
  std::vector<int> log;
  virtual_executor on(at(0));
  std::vector<std::unique_ptr<logging_timer>> timers;
  std::vector<int> expected;
  for (int i = 0; i < 1000; ++i) timers.push_back(std::make_unique<logging_timer>(log, i));
  for (int i = 0; i < 1000; ++i) on.arm(*timers[static_cast<std::size_t>(i)], at(i % 3 == 0 ? 50 : 60));
  for (int i = 0; i < 1000; i += 10) on.disarm(*timers[static_cast<std::size_t>(i)]);
  for (int pass = 0; pass < 2; ++pass) {
    for (int i = 0; i < 1000; ++i) {
      if (i % 10 != 0 && (i % 3 == 0) == (pass == 0)) expected.push_back(i);
    }
  }
  on.run_until_idle();
  CHECK(log == expected);
  CHECK(on.now() == at(60));
}

TEST_CASE("the timer heap agrees with an ordered multimap under random operations") {
  random_generator random(7);
  std::vector<int> fired;
  timer_heap heap;
  std::vector<std::unique_ptr<logging_timer>> timers;
  for (int i = 0; i < 400; ++i) timers.push_back(std::make_unique<logging_timer>(fired, i));
  std::multimap<time_point, int> reference;
  std::vector<std::multimap<time_point, int>::iterator> place(timers.size(), reference.end());
  for (int step = 0; step < 100'000; ++step) {
    const auto i = static_cast<std::size_t>(random.below(timers.size()));
    switch (random.below(4)) {
      case 0:
      case 1:
        if (!timers[i]->armed()) {
          const time_point when = at(static_cast<std::int64_t>(random.below(64)));
          heap.insert(*timers[i], when);
          place[i] = reference.emplace(when, static_cast<int>(i));
          REQUIRE(timers[i]->at() == when);
        }
        break;
      case 2:
        if (timers[i]->armed()) reference.erase(place[i]);
        heap.remove(*timers[i]);
        break;
      default: {
        const time_point now = at(static_cast<std::int64_t>(random.below(64)));
        fired.clear();
        const bool due = !reference.empty() && reference.begin()->first <= now;
        REQUIRE(heap.fire_one(now) == due);
        if (due) {
          REQUIRE(fired == std::vector{reference.begin()->second});
          reference.erase(reference.begin());
        }
      }
    }
    REQUIRE(heap.earliest() == (reference.empty() ? never : reference.begin()->first));
  }
  while (heap.fire_one(never)) {
  }
  CHECK(heap.empty());
}

TEST_CASE("a million timers in falling order need no deep recursion") {
  class silent final : public timer_node {
   public:
    silent() : timer_node([](timer_node&) noexcept {}) {}
  };
  constexpr std::size_t count = 1'000'000;
  const auto timers = std::make_unique<silent[]>(count);
  timer_heap heap;
  for (std::size_t i = 0; i < count; ++i) heap.insert(timers[i], at(static_cast<std::int64_t>(count - i)));
  std::size_t fired = 0;
  for (time_point last = at(0); !heap.empty(); ++fired) {
    REQUIRE(heap.earliest() >= last);
    last = heap.earliest();
    heap.fire_one(never);
  }
  CHECK(fired == count);
}

TEST_CASE("a timer that dies armed is a broken invariant") {
  const death d = die([] {
    std::vector<int> log;
    virtual_executor on;
    logging_timer t(log, 1);
    on.arm(t, never);
  });
  CHECK(d.message.find("a timer was destroyed while armed") != std::string::npos);
}
