#include "scoll/collective/agreement/instance_table.hpp"

#include "tests/catch.hpp"

using namespace scoll::detail;

namespace {

struct instance {
  explicit instance(std::uint64_t n) : number(n) {}
  bool decided() const { return known; }
  void close() { closed = true; }
  std::uint64_t number;
  bool known = false;
  bool closed = false;
};
using table = instance_table<instance>;

table::lookup open(table& t, std::uint64_t number) {
  return t.open(number, [](std::uint64_t n) { return std::make_shared<instance>(n); });
}

void decide(table& t, std::uint64_t number) {
  const auto found = open(t, number);
  REQUIRE(found.instance != nullptr);
  found.instance->known = true;
  t.note_decided(number);
}

}  // namespace

TEST_CASE("an instance is found again under its number", "[agreement]") {
  table t;
  const auto first = open(t, 7);
  REQUIRE(first.where == table::place::found);
  CHECK(first.instance->number == 7);
  CHECK(open(t, 7).instance == first.instance);
  CHECK(t.find(7) == first.instance);
  CHECK(t.find(8) == nullptr);
  CHECK(t.open_count() == 1);
}

TEST_CASE("an instance closes those that lie more than 64 below it", "[agreement]") {
  table t;
  const auto below = open(t, 99).instance, edge = open(t, 100).instance;
  REQUIRE(open(t, 164).where == table::place::found);
  CHECK(below->closed);
  CHECK_FALSE(edge->closed);
  CHECK(t.is_stale(99));
  CHECK(t.is_stale(0));
  CHECK(open(t, 99).where == table::place::stale);
  CHECK(open(t, 100).instance == edge);
  CHECK(open(t, 101).where == table::place::found);
}

TEST_CASE("64 instances can be open", "[agreement]") {
  table t;
  for (std::uint64_t n = 0; n < table::most_open; ++n) REQUIRE(open(t, n).where == table::place::found);
  CHECK(open(t, table::most_open).where == table::place::busy);
  CHECK(open(t, 3).where == table::place::found);
  decide(t, 3);
  CHECK(open(t, table::most_open).where == table::place::found);
  CHECK(t.open_count() == table::most_open);
}

TEST_CASE("the last 8 decisions are kept, even of instances that lie far below", "[agreement]") {
  table t;
  for (std::uint64_t n = 1; n <= table::kept_decisions; ++n) decide(t, n);
  REQUIRE(open(t, 1000).where == table::place::found);
  CHECK(t.find(1)->known);
  decide(t, 1000);
  CHECK(t.find(1) == nullptr);
  CHECK(t.is_stale(1));
  CHECK(t.find(2)->known);
  CHECK(t.decided_count() == table::kept_decisions);
}

TEST_CASE("a decision that is forgotten is stale for ever, among numbers that are not", "[agreement]") {
  table t;
  for (std::uint64_t n = 0; n < 40; n += 2) decide(t, n);
  CHECK(open(t, 0).where == table::place::stale);
  CHECK(open(t, 22).where == table::place::stale);
  CHECK(open(t, 24).instance->known);
  CHECK(open(t, 1).where == table::place::found);
  CHECK(open(t, 21).where == table::place::found);
  CHECK_FALSE(t.is_stale(23));
  REQUIRE(open(t, 95).where == table::place::found);
  CHECK(open(t, 22).where == table::place::stale);
  CHECK(open(t, 31).where == table::place::found);
  CHECK(t.is_stale(29));
}
