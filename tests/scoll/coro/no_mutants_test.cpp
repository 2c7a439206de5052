#include "scoll/coro/mutants.hpp"
#include "tests/catch.hpp"

TEST_CASE("without mutants a site is the constant false and names nothing") {
  STATIC_REQUIRE_FALSE(SCOLL_MUTANT(declared_nowhere, "what it would do"));
  STATIC_REQUIRE_FALSE(SCOLL_MUTANT(neither, this + one));
}
