#include "gossip/member/rail_choice.hpp"

#include <set>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::gossip;

TEST_CASE("with one rail nothing is drawn, and every ping takes it") {
  random_generator random(1), untouched(1);
  rail_choice c(1);
  for (int cycle = 0; cycle < 20; ++cycle) {
    CHECK(c.first(random) == 0);
    for (int retry = 0; retry < 3; ++retry) CHECK(c.next() == 0);
  }
  CHECK(random.next() == untouched.next());
}

TEST_CASE("the first ping of a cycle takes the rail that answered last, and one in eight takes another") {
  for (const std::uint32_t rails : {2U, 3U, 8U}) {
    random_generator random(rails);
    rail_choice c(rails);
    c.answered(1);
    int others = 0;
    std::set<rail_index> seen;
    for (int cycle = 0; cycle < 8000; ++cycle) {
      const rail_index first = c.first(random);
      REQUIRE(first < rails);
      others += first != 1;
      seen.insert(first);
    }
    CHECK(others > 900);
    CHECK(others < 1100);
    CHECK(seen.size() == rails);
  }
}

TEST_CASE("a cycle without a reply moves the next one to another rail") {
  rail_choice c(2);
  CHECK(c.preferred() == 0);
  c.unanswered();
  CHECK(c.preferred() == 1);
  c.unanswered();
  CHECK(c.preferred() == 0);
}

TEST_CASE("retries take the rails that were not tried, beginning with the one that answered last") {
  for (const std::uint32_t rails : {2U, 3U, 8U}) {
    random_generator random(rails);
    rail_choice c(rails);
    for (int cycle = 0; cycle < 200; ++cycle) {
      const auto answered = static_cast<rail_index>(cycle % static_cast<int>(rails));
      c.answered(answered);
      std::set<rail_index> tried{c.first(random)};
      for (std::uint32_t retry = 1; retry < rails; ++retry) {
        const rail_index next = c.next();
        if (retry == 1 && !tried.contains(answered)) CHECK(next == answered);
        CHECK(tried.insert(next).second);
      }
      CHECK(c.next() == answered);  // all have been tried, so it begins anew
    }
  }
}
