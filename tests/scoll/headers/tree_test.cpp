#include "scoll/tree.hpp"

#include "tests/catch.hpp"

TEST_CASE("scoll/tree.hpp is enough to shape, name and draw a tree") {
  constexpr scoll::knomial binomial{2};
  STATIC_REQUIRE(scoll::spanning_tree<scoll::knomial>);
  CHECK(binomial.fan_out(8, 0) == 3);
  CHECK(binomial.parent(8, 7) == 6);
  const scoll::tree_spec named = scoll::kary{2};
  CHECK(to_string(named) == "kary:2");
}
