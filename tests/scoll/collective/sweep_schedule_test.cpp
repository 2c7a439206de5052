#include "scoll/collective/sweep_schedule.hpp"

#include <algorithm>
#include <chrono>
#include <set>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;
using namespace std::chrono_literals;

namespace {

constexpr creator_life one{1, 7};
constexpr creator_life other{2, 7};

}  // namespace

TEST_CASE("a creator is asked once per lease, give or take a tenth", "[sweep]") {
  sweep_schedule schedule(10s, 3);
  CHECK(schedule.due() == never);
  const time_point start{};
  schedule.watch(one, start);
  std::set<nanoseconds> pauses;
  time_point before = start;
  for (int i = 0; i < 200; ++i) {
    const time_point due = schedule.due();
    const nanoseconds pause = due - before;
    REQUIRE(pause >= 9s);
    REQUIRE(pause <= 11s);
    pauses.insert(pause);
    schedule.watch(one, before + 1s);  // a further group of that life changes nothing
    REQUIRE(schedule.due() == due);
    REQUIRE_FALSE(schedule.next(due - 1ns).has_value());
    REQUIRE(schedule.next(due) == one);
    before = due;
  }
  CHECK(pauses.size() > 190);
  CHECK(*pauses.begin() < 9200ms);
  CHECK(*pauses.rbegin() > 10800ms);
}

TEST_CASE("the creator that has been due for longest is asked first", "[sweep]") {
  sweep_schedule schedule(10s, 4);
  schedule.watch(other, time_point{});
  schedule.watch(one, time_point{} + 5s);
  const time_point late = time_point{} + 60s;
  CHECK(schedule.next(late) == other);
  CHECK(schedule.next(late) == one);
  CHECK_FALSE(schedule.next(late).has_value());
  schedule.end(other);
  CHECK(schedule.size() == 1);
  CHECK(schedule.next(late + 20s) == one);
}

TEST_CASE("questions in a row that nobody has answered are counted", "[sweep]") {
  sweep_schedule schedule(1s, 5);
  schedule.watch(one, time_point{});
  CHECK(schedule.unanswered(one) == 0);
  for (int i = 0; i < 4; ++i) {
    REQUIRE(schedule.next(schedule.due()) == one);
    CHECK(schedule.unanswered(one) == i);
    CHECK(schedule.questions(one) == static_cast<std::uint64_t>(i) + 1);
  }
  schedule.answered(one);
  CHECK(schedule.unanswered(one) == 0);
  REQUIRE(schedule.next(schedule.due()) == one);
  CHECK(schedule.unanswered(one) == 0);
  REQUIRE(schedule.next(schedule.due()) == one);
  CHECK(schedule.unanswered(one) == 1);
  CHECK(schedule.unanswered(other) == 0);
}

TEST_CASE("questions about more groups than one message names take turns", "[sweep]") {
  sweep_schedule schedule(1s, 6);
  schedule.watch(one, time_point{});
  counter_ranges held;
  for (std::uint64_t counter = 1; counter <= 1000; ++counter) {
    if (counter % 7 != 0) add_counter(held, counter);
  }
  std::vector<int> asked(1001, 0);
  for (int round = 0; round < 48; ++round) {
    const counter_ranges portion = schedule.portion(one, held, 24);
    REQUIRE_FALSE(portion.empty());
    for (const counter_range& r : portion) {
      for (std::uint64_t c = r.first; c <= r.last; ++c) ++asked[c];
    }
  }
  for (std::uint64_t counter = 1; counter <= 1000; ++counter) {
    REQUIRE(asked[counter] >= (counter % 7 != 0 ? 3 : 0));
    REQUIRE(asked[counter] <= (counter % 7 != 0 ? 5 : 0));
  }
  CHECK(schedule.portion(one, held, 4000) != held);  // it goes on from where it was
  CHECK(schedule.portion(one, held, 4000) == held);
  CHECK(schedule.portion(other, held, 4000).empty());
}

TEST_CASE("a question begins anew when no group is left beyond the last one", "[sweep]") {
  sweep_schedule schedule(1s, 7);
  schedule.watch(one, time_point{});
  const counter_ranges held{{1, 1}, {3, 3}, {9, 9}};
  CHECK(schedule.portion(one, held, 4) == counter_ranges{{1, 1}, {3, 3}});
  CHECK(schedule.portion(one, {{1, 1}, {3, 3}}, 4) == counter_ranges{{1, 1}, {3, 3}});
}
