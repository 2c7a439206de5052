#include "scoll/collective/ending_groups.hpp"

#include <vector>

#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::detail;
using namespace std::chrono_literals;

namespace {

const time_point start{1h};

group_id id_of(std::uint64_t counter) {
  return {1, 1, counter, {}};
}

ended_group ended(std::uint64_t counter, std::vector<node_id> untold) {
  return {id_of(counter), service_id{0x0201}, 4, 100 * counter, lifetime::creator, std::move(untold)};
}

void keep(ending_groups& groups, std::uint64_t counter, std::vector<node_id> untold, time_point now = start) {
  REQUIRE(groups.reserve());
  groups.keep(ended(counter, std::move(untold)), now);
}

/// The node that is told at this time; 0: none.
node_id told_at(ending_groups& groups, time_point now) {
  const auto turn = groups.next(now);
  return turn ? turn->node : 0;
}

}  // namespace

TEST_CASE("an empty table of ended groups has nothing to do", "[group_end]") {
  ending_groups groups;
  CHECK(groups.waiting() == 0);
  CHECK(groups.due() == never);
  CHECK_FALSE(groups.next(start).has_value());
  CHECK(groups.untold(id_of(1)).empty());
  groups.settle(id_of(1), 2);
  groups.told(id_of(1), 2, start);
  groups.missed(2, start);
  groups.died(2);
  groups.heard_of(2, start);
  CHECK(groups.due() == never);
}

TEST_CASE("a member that is missed is told again after pauses that double", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7});
  time_point due = start + 100ms;
  for (const nanoseconds pause : {200ms, 400ms, 800ms, 1600ms, 3200ms, 6400ms, 10000ms, 10000ms}) {
    REQUIRE(groups.due() == due);
    REQUIRE_FALSE(groups.next(due - 1ns).has_value());
    const auto turn = groups.next(due);
    REQUIRE(turn.has_value());
    REQUIRE(turn->node == 7);
    REQUIRE(turn->id == id_of(1));
    REQUIRE(groups.due() == never);  // the request is under way
    REQUIRE_FALSE(groups.next(due + 1h).has_value());
    groups.missed(7, due + 1s);
    due += 1s + pause;
  }
  CHECK(groups.waiting() == 1);
}

TEST_CASE("each request about an ended group has a counter of its own", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7, 8});
  const auto first = groups.next(start + 100ms);
  const auto second = groups.next(start + 100ms);
  REQUIRE(first.has_value());
  REQUIRE(second.has_value());
  CHECK(first->counter == 100);
  CHECK(second->counter == 101);
  CHECK(first->self_rank == 4);
  CHECK(first->service == service_id{0x0201});
}

TEST_CASE("a group is kept until its last member has been told", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {9, 7, 8});
  CHECK(groups.untold(id_of(1)) == std::vector<node_id>{7, 8, 9});
  const time_point now = start + 100ms;
  CHECK(told_at(groups, now) == 7);
  CHECK(told_at(groups, now) == 8);
  CHECK(told_at(groups, now) == 9);
  groups.told(id_of(1), 8, now);
  groups.told(id_of(1), 7, now);
  CHECK(groups.untold(id_of(1)) == std::vector<node_id>{9});
  CHECK(groups.waiting() == 1);
  groups.told(id_of(1), 9, now);
  CHECK(groups.waiting() == 0);
  CHECK(groups.due() == never);
}

TEST_CASE("a silent member is tried for one group, and told of all at once when it answers", "[group_end]") {
  ending_groups groups;
  for (std::uint64_t counter = 1; counter <= 50; ++counter) keep(groups, counter, {7});
  time_point now = start + 100ms;
  REQUIRE(told_at(groups, now) == 7);
  REQUIRE(told_at(groups, now) == 0);
  groups.missed(7, now);
  keep(groups, 51, {7}, now);
  REQUIRE(groups.due() == now + 200ms);  // the new group waits with the others
  now += 200ms;
  for (std::uint64_t counter = 1; counter <= 51; ++counter) {
    const auto turn = groups.next(now);
    REQUIRE(turn.has_value());
    REQUIRE(turn->id == id_of(counter));
    groups.told(turn->id, 7, now);
  }
  CHECK(groups.waiting() == 0);
}

TEST_CASE("the member that has been due for longest is told first", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7}, start + 50ms);
  keep(groups, 2, {8}, start);
  CHECK(groups.due() == start + 100ms);
  CHECK(told_at(groups, start + 120ms) == 8);
  CHECK(told_at(groups, start + 120ms) == 0);
  CHECK(told_at(groups, start + 150ms) == 7);
}

TEST_CASE("no group is told to a dead member, unless it is called alive again", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7});
  keep(groups, 2, {7, 8});
  groups.died(7);
  CHECK(groups.waiting() == 1);
  CHECK(groups.untold(id_of(1)).empty());
  CHECK(groups.untold(id_of(2)) == std::vector<node_id>{8});
  const time_point now = start + 1h;
  CHECK(told_at(groups, now) == 8);
  CHECK(told_at(groups, now) == 0);
  groups.told(id_of(2), 8, now);
  CHECK(groups.waiting() == 0);
  CHECK(groups.due() == never);

  keep(groups, 3, {7}, now);
  CHECK(groups.waiting() == 0);
  groups.heard_of(7, now);
  CHECK(groups.waiting() == 3);
  CHECK(groups.due() == now);
  for (std::uint64_t counter = 1; counter <= 3; ++counter) {
    CHECK(told_at(groups, now) == 7);
    groups.told(id_of(counter), 7, now);
  }
  CHECK(groups.waiting() == 0);
}

TEST_CASE("a death while a member is being told does not lose its turn", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7});
  CHECK(told_at(groups, start + 100ms) == 7);
  groups.died(7);
  groups.missed(7, start + 100ms);
  CHECK(groups.due() == never);
  groups.heard_of(7, start + 5s);
  CHECK(told_at(groups, start + 5s) == 7);
}

TEST_CASE("a member that is called alive is told at once", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7});
  groups.heard_of(7, start + 1ms);
  CHECK(groups.due() == start + 1ms);
  CHECK(groups.waiting() == 1);
}

TEST_CASE("the table of ended groups is bounded, and reserved places count", "[group_end]") {
  ending_groups groups(3);
  keep(groups, 1, {7});
  REQUIRE(groups.reserve());
  REQUIRE(groups.reserve());
  CHECK_FALSE(groups.reserve());
  groups.release();
  keep(groups, 2, {7});
  CHECK_FALSE(groups.reserve());
  groups.settle(id_of(1), 7);
  CHECK(groups.reserve());
}

TEST_CASE("a group that waits for the dead only gives its place to another", "[group_end]") {
  ending_groups groups(2);
  keep(groups, 1, {7, 8});
  keep(groups, 2, {7});
  groups.died(7);
  keep(groups, 3, {8});
  CHECK_FALSE(groups.reserve());
  groups.heard_of(7, start);
  CHECK(groups.waiting() == 2);
  CHECK(groups.untold(id_of(2)).empty());
  CHECK(groups.untold(id_of(1)) == std::vector<node_id>{7, 8});
}

TEST_CASE("a table that is cleared tells nobody", "[group_end]") {
  ending_groups groups;
  keep(groups, 1, {7});
  CHECK(told_at(groups, start + 100ms) == 7);
  groups.clear();
  groups.told(id_of(1), 7, start + 100ms);  // the answer comes all the same
  CHECK(groups.waiting() == 0);
  CHECK(groups.due() == never);
}
