#include "gossip/liveness/cluster_clock.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::gossip;

namespace {

constexpr nanoseconds clock_interval = std::chrono::milliseconds(200);

time_point after(double intervals) {
  return time_point(nanoseconds(static_cast<std::int64_t>(intervals * 2e8)));
}

cluster_clock settled(clock_rule rule = clock_rule::guarded) {
  cluster_clock c(rule, clock_interval);
  c.settle();
  c.tick(after(0), 10);
  return c;
}

}  // namespace

TEST_CASE("a cluster clock goes one cycle in an interval by itself") {
  cluster_clock c = settled();
  for (int i = 1; i <= 100; ++i) c.tick(after(i), 10);
  CHECK(c.now() == 101);
}

TEST_CASE("one participant that is ahead drives nobody faster than the guard allows") {
  cluster_clock c = settled();
  for (int i = 1; i <= 100; ++i) {
    c.tick(after(i), 10);
    c.hear(7, 1000 + static_cast<std::uint64_t>(2 * i), after(i + 0.5));
  }
  CHECK(c.now() <= 101 * 10 / 9 + 5);
  CHECK(c.now() >= 101);
}

TEST_CASE("who is behind follows three others at once, not two") {
  cluster_clock c = settled();
  CHECK(c.hear(1, 500, after(0.1)));
  CHECK(c.hear(2, 501, after(0.2)));
  CHECK(c.now() < 10);
  CHECK_FALSE(c.hear(3, 499, after(0.3)));
  CHECK(c.now() == 499);
  cluster_clock small(clock_rule::guarded, clock_interval);
  small.settle();
  small.tick(after(0), 1);  // there is only one live participant
  CHECK_FALSE(small.hear(1, 500, after(0.1)));
  CHECK(small.now() == 500);
}

TEST_CASE("what was heard three ticks ago counts no more") {
  cluster_clock c = settled();
  c.hear(1, 500, after(0.1));
  c.hear(2, 500, after(0.1));
  for (int i = 1; i <= 2; ++i) c.tick(after(i), 10);
  CHECK(c.hear(3, 500, after(2.1)));
  CHECK(c.now() < 20);
}

TEST_CASE("who is far ahead of all others waits for them") {
  cluster_clock c = settled();
  c.hear(1, 50, after(0.1));
  c.hear(2, 50, after(0.1));
  c.hear(3, 50, after(0.1));
  REQUIRE(c.now() == 50);
  c.tick(after(1), 10);
  c.hear(1, 40, after(1.1));
  CHECK(c.tick(after(2), 10));
  CHECK(c.now() == 50);
  c.hear(2, 49, after(2.1));
  CHECK_FALSE(c.tick(after(3), 10));
  CHECK(c.now() == 51);
}

TEST_CASE("time that was slept through may be caught up with at once") {
  cluster_clock c = settled();
  c.tick(after(6), 10);
  CHECK(c.now() == 2);
  c.hear(1, 7, after(6.1));
  CHECK(c.now() == 7);
}

TEST_CASE("until it has settled a clock goes to the median, also down when three agree") {
  cluster_clock c(clock_rule::guarded, clock_interval);
  c.tick(after(0), 10);
  c.hear(1, 9000, after(0.1));
  CHECK(c.now() == 9000);
  c.hear(2, 100, after(0.2));
  c.hear(3, 101, after(0.3));
  CHECK(c.now() == 9000);
  c.hear(4, 102, after(0.4));
  CHECK(c.now() == 101);
}

TEST_CASE("who starts does not go back to what two others said long ago") {
  cluster_clock c(clock_rule::guarded, clock_interval);
  c.tick(after(0), 10);
  c.hear(1, 100, after(0.1));
  CHECK(c.now() == 100);
  CHECK(c.confirmed(1));
  CHECK_FALSE(c.confirmed(2));
  c.hear(2, 60, after(0.2));
  c.tick(after(1), 10);
  c.tick(after(2), 10);
  c.hear(2, 61, after(2.1));
  c.hear(3, 61, after(2.2));
  CHECK(c.now() == 102);
  CHECK_FALSE(c.confirmed(9));
  c.tick(after(3), 10);
  c.tick(after(4), 10);
  c.hear(4, 103, after(4.1));
  CHECK_FALSE(c.confirmed(9));
  c.hear(5, 104, after(4.2));
  CHECK(c.now() == 104);
  CHECK(c.confirmed(9));
}

TEST_CASE("the source's clock is Lamport's") {
  cluster_clock c = settled(clock_rule::lamport);
  CHECK(c.now() == 1);
  c.hear(1, 500, after(0.1));
  CHECK(c.now() == 501);
  c.hear(1, 501, after(0.1));
  CHECK(c.now() == 502);
  c.hear(1, 3, after(0.1));
  CHECK(c.now() == 502);
}
