#include "scoll/coro/time_limit.hpp"

#include <chrono>
#include <limits>
#include <ratio>

#include "tests/catch.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

constexpr time_point time_at(std::int64_t ns) {
  return time_point(nanoseconds(ns));
}

struct options {
  time_limit deadline{};
};

}  // namespace

TEST_CASE("a time limit is none by default, and by everything that means forever") {
  for (const time_limit none : {time_limit(), time_limit(nanoseconds::max()), time_limit(deadline()),
                                time_limit(deadline(never)), time_limit(std::chrono::hours::max()),
                                time_limit(std::chrono::duration<double>(1e300)), options{}.deadline}) {
    CHECK(none.unlimited());
    CHECK(none == time_limit());
    CHECK(none.from(time_at(7)).unlimited());
    CHECK(none.left(time_at(7)) == nanoseconds::max());
    CHECK_FALSE(none.over(time_at(7)));
  }
}

TEST_CASE("a duration counts from the start, in whole nanoseconds") {
  const options o{.deadline = 5s};
  CHECK(o.deadline.from(time_at(100)).at == time_at(5'000'000'100));
  CHECK(o.deadline.left(time_at(100)) == 5s);
  CHECK_FALSE(o.deadline.over(time_at(100)));
  CHECK(time_limit(1h).left(time_at(0)) == 1h);
  CHECK(time_limit(0.5s).left(time_at(0)) == 500ms);
  CHECK(time_limit(std::chrono::duration<std::int64_t, std::pico>(1001)).left(time_at(0)) == 2ns);
  CHECK(time_limit(nanoseconds::max() - 1ns).from(time_at(100)).unlimited());
}

TEST_CASE("a duration of zero or less is over at once") {
  constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();
  for (const time_limit over : {time_limit(0ns), time_limit(-1ns), time_limit(std::chrono::hours::min()),
                                time_limit(-0.5s), time_limit(std::chrono::duration<double>(not_a_number))}) {
    CHECK_FALSE(over.unlimited());
    CHECK(over.over(time_at(100)));
    CHECK(over.from(time_at(100)).at == time_at(100));
    CHECK(over.left(time_at(100)) == 0ns);
  }
}

TEST_CASE("a point in time stays where it is, whenever the operation starts") {
  const time_limit until = deadline(time_at(1000));
  CHECK(until.from(time_at(0)).at == time_at(1000));
  CHECK(until.from(time_at(900)).at == time_at(1000));
  CHECK(until.left(time_at(900)) == 100ns);
  CHECK_FALSE(until.over(time_at(999)));
  CHECK(until.over(time_at(1000)));
  CHECK(until.left(time_at(2000)) == 0ns);
  CHECK(until != time_limit(1000ns));
  CHECK(time_limit(deadline(time_point::min())).left(time_at(5)) == 0ns);
}
