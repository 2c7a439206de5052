#include "scoll/collective/operation/times.hpp"

#include <chrono>

#include "tests/catch.hpp"

using namespace std::chrono_literals;
using scoll::errc;
using scoll::nanoseconds;
using scoll::time_point;
using scoll::detail::collective_head;
using scoll::detail::operation_times;

namespace {

constexpr time_point start_time{1s};

operation_times cascading(nanoseconds rtt, nanoseconds margin, nanoseconds processing, std::int64_t levels) {
  operation_times t;
  REQUIRE(t.set_bounds({}, start_time, rtt, margin, processing, levels).has_value());
  return t;
}

}  // namespace

TEST_CASE(
    "without a deadline a subtree of d levels is awaited d round trips with margins, and one processing") {
  operation_times t = cascading(1ms, 2ms, 100ms, 4);
  t.begin_as_root(start_time, 4, 0ns);
  CHECK(t.expires == start_time + 4 * 3ms + 100ms);
  for (int levels = 1; levels <= 3; ++levels) {
    CHECK(t.child_due(start_time, levels) == start_time + levels * 3ms + 100ms);
    CHECK(t.child_due(start_time, levels, 1us) == start_time + levels * 3ms + 100ms);
  }
  CHECK(t.child_due(start_time, 1, 3ms) == start_time + 5ms + 100ms);
  CHECK(t.remaining_ns(start_time) == 0);
}

TEST_CASE("a child is never awaited longer than the operation itself") {
  operation_times t = cascading(1ms, 2ms, 100ms, 2);
  t.begin_as_root(start_time, 2, 0ns);
  CHECK(t.child_due(start_time + 50ms, 1) == t.expires);
}

TEST_CASE("with a deadline the remaining time travels, and each level keeps its margin") {
  operation_times root;
  REQUIRE(root.set_bounds(80ms, start_time, 1ms, 2ms, 100ms, 4).has_value());
  CHECK(root.margin == 5ms);  // a quarter of a level's share
  root.begin_as_root(start_time, 4, 0ns);
  CHECK(root.expires == start_time + 80ms);
  CHECK(root.child_due(start_time, 3) == root.expires);
  CHECK(root.remaining_ns(start_time + 10ms) == 70'000'000);
  CHECK(root.remaining_ns(start_time + 90ms) == 1);  // never 0, which would mean that there is no deadline

  collective_head head;
  head.margin_us = 5'000;
  head.remaining_ns = 70'000'000;
  operation_times member;
  member.begin_as_member(start_time + 10ms, head, 3);
  CHECK(member.by_deadline);
  CHECK(member.expires == start_time + 75ms);
}

TEST_CASE("the margin of a level stays between its bounds, and a deadline below them is refused") {
  operation_times t;
  REQUIRE(t.set_bounds(10s, start_time, 1ms, 2ms, 1s, 1).has_value());
  CHECK(t.margin == 20ms);
  REQUIRE(t.set_bounds(801us, start_time, 1ms, 2ms, 1s, 4).has_value());
  CHECK(t.margin == 100us);
  CHECK(t.set_bounds(800us, start_time, 1ms, 2ms, 1s, 4).error() == errc::deadline_exceeded);
  CHECK(t.set_bounds(0ns, start_time, 1ms, 2ms, 1s, 1).error() == errc::deadline_exceeded);
}

TEST_CASE("time is kept for a finish hook that has to be awaited") {
  operation_times t;
  REQUIRE(t.set_bounds(80ms, start_time, 1ms, 2ms, 100ms, 4).has_value());
  t.begin_as_root(start_time, 4, t.finishing());
  CHECK(t.expires == start_time + 80ms - 1250us);
}

TEST_CASE("a member without a deadline gives up before its parent does") {
  for (std::int64_t levels = 1; levels <= 5; ++levels) {
    operation_times parent = cascading(1ms, 2ms, 100ms, levels + 1);
    parent.begin_as_root(start_time, levels + 1, 0ns);
    collective_head head;
    head.rtt_us = 1'000;
    head.margin_us = 2'000;
    head.processing_ns = 100'000'000;
    operation_times member;
    member.begin_as_member(start_time, head, levels);
    CHECK(member.expires < parent.child_due(start_time, levels));
  }
}

TEST_CASE("durations from the wire are bounded so that sums cannot overflow") {
  collective_head head;
  head.rtt_us = head.margin_us = UINT32_MAX;
  head.processing_ns = UINT64_MAX;
  for (const std::int64_t levels : {1, 40, 1'048'576}) {
    operation_times t;
    t.begin_as_member(start_time, head, levels);
    CHECK((t.expires > start_time));
    CHECK((t.child_due(start_time, levels) > start_time));
  }
}

TEST_CASE("an abort leaves a round trip for each level and no processing time") {
  operation_times t = cascading(1ms, 2ms, 100ms, 3);
  t.begin_as_root(start_time, 3, 0ns);
  t.shorten_to_round_trip(start_time + 1ms, 3);
  CHECK(t.expires == start_time + 1ms + 2 * 3ms + 1ms);
  CHECK(t.child_due_in_round_trip(start_time + 1ms, 2) == start_time + 1ms + 2 * 3ms);
  CHECK(t.child_due_in_round_trip(start_time + 1ms, 9) == t.expires);
}

TEST_CASE("a longer processing bound moves the end by the difference, a shorter one does not") {
  operation_times t = cascading(1ms, 2ms, 100ms, 3);
  t.begin_as_root(start_time, 3, 0ns);
  const time_point before = t.expires;
  CHECK(t.extend(100ms) == 0ns);
  CHECK(t.extend(250ms) == 150ms);
  CHECK(t.expires == before + 150ms);
  operation_times limited;
  REQUIRE(limited.set_bounds(80ms, start_time, 1ms, 2ms, 100ms, 3).has_value());
  CHECK(limited.extend(10s) == 0ns);  // a caller's deadline is not moved
}
