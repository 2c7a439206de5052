#include "examples/shard_server/services/layout.hpp"

#include <set>
#include <string>

#include "examples/shard_server/store/object_name.hpp"
#include "tests/catch.hpp"

TEST_CASE("slots are dealt to the servers in turn", "[shard]") {
  const auto targets = shard::with_slots({{7, {}}, {3, {}}, {5, {}}}, 8);
  REQUIRE(targets.size() == 3);
  CHECK(targets[0].node == 7);
  CHECK(targets[0].entities.size() == 3);
  CHECK(targets[1].entities.size() == 3);
  CHECK(targets[2].entities.size() == 2);
  std::set<scoll::entity> all;
  for (const auto& each : targets) all.insert(each.entities.begin(), each.entities.end());
  CHECK(all.size() == 8);
  CHECK(targets[1].entities[2].low == 7);
}

TEST_CASE("the objects of one server use all of its slots", "[shard]") {
  constexpr std::uint32_t members = 6;
  constexpr std::size_t slots = 20;
  std::set<std::size_t> used;
  for (int i = 0; i != 6000; ++i) {
    const std::string name = "object " + std::to_string(i);
    if (shard::owner_rank(name, members) != 2) continue;
    const std::size_t position = shard::slot_position(name, members, slots);
    REQUIRE(position < slots);
    used.insert(position);
  }
  CHECK(used.size() == slots);
}
