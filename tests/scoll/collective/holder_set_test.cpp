#include "scoll/collective/holder_set.hpp"

#include "tests/catch.hpp"

using scoll::detail::holder_set;

TEST_CASE("a set of holders takes whole ranges, whichever words they touch", "[delayed]") {
  constexpr std::uint32_t n = 200;
  for (const std::uint32_t first : {0U, 1U, 63U, 64U, 65U, 127U, 128U, 199U}) {
    for (const std::uint32_t last : {first, first + 1, 64U, 65U, 128U, 191U, 192U, n}) {
      if (last < first || last > n) continue;
      INFO(first << " to " << last);
      holder_set holders(n);
      holders.insert(first, last);
      for (std::uint32_t rank = 0; rank < n; ++rank)
        REQUIRE(holders.contains(rank) == (rank >= first && rank < last));
      if (first == last) continue;
      holders.erase(first);
      REQUIRE_FALSE(holders.contains(first));
    }
  }
}
