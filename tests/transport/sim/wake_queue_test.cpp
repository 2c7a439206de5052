#include "transport/sim/wake_queue.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"

using scoll::nanoseconds;
using scoll::random_generator;
using scoll::testing::wake_queue;

TEST_CASE("the next host is the earliest, and of equal ones the lowest") {
  for (const std::uint32_t hosts : {1U, 2U, 5U, 64U, 333U}) {
    wake_queue queue(hosts);
    std::vector<nanoseconds> wakes(hosts, wake_queue::no_time);
    random_generator random(hosts);
    REQUIRE(queue.earliest() == wake_queue::no_time);
    for (int i = 0; i < 3000; ++i) {
      const auto host = static_cast<std::uint32_t>(random.below(hosts));
      const bool idle = random.chance(1, 4);
      wakes[host] = idle ? wake_queue::no_time : nanoseconds(static_cast<std::int64_t>(random.below(40)));
      queue.set(host, wakes[host]);
      const auto first = std::min_element(wakes.begin(), wakes.end());
      REQUIRE(queue.earliest() == *first);
      if (*first != wake_queue::no_time) REQUIRE(queue.first() == first - wakes.begin());
    }
  }
}

TEST_CASE("nobody is next without hosts") {
  REQUIRE(wake_queue(0).earliest() == wake_queue::no_time);
}
