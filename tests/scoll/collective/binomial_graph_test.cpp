#include "scoll/collective/binomial_graph.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"

using scoll::detail::binomial_degree;
using scoll::detail::binomial_graph;

namespace {

using ranks = std::vector<std::uint32_t>;

ranks listed(const scoll::detail::rank_list& from) {
  return {from.begin(), from.end()};
}

/// The definition, written down without any of the tricks.
std::set<std::uint32_t> by_definition(std::uint32_t n, const ranks& dead, std::uint32_t rank) {
  const std::set<std::uint32_t> gone(dead.begin(), dead.end());
  ranks living;
  for (std::uint32_t r = 0; r < n; ++r) {
    if (!gone.contains(r)) living.push_back(r);
  }
  std::set<std::uint32_t> found;
  for (std::uint64_t step = 1; step < n; step *= 2) {
    found.insert(static_cast<std::uint32_t>((rank + step) % n));
    found.insert(static_cast<std::uint32_t>((rank + n - step) % n));
  }
  const auto self = std::find(living.begin(), living.end(), rank);
  const auto m = living.size();
  for (std::uint64_t step = 1; self != living.end() && step < m; step *= 2) {
    const auto index = static_cast<std::uint64_t>(self - living.begin());
    found.insert(living[(index + step) % m]);
    found.insert(living[(index + m - step) % m]);
  }
  for (const std::uint32_t r : gone) found.erase(r);
  found.erase(rank);
  return found;
}

constexpr auto of_ten = binomial_graph(10, {}).neighbours(3);
static_assert(of_ten.size() == 6);

}  // namespace

TEST_CASE("the neighbours of a rank are the powers of two around it, farthest first", "[revoke]") {
  CHECK(listed(of_ten) == ranks{7, 9, 5, 1, 4, 2});
  CHECK(listed(binomial_graph(10, {}).neighbours(0)) == ranks{4, 6, 2, 8, 1, 9});
  CHECK(listed(binomial_graph(8, {}).neighbours(6)) == ranks{2, 0, 4, 7, 5});
  CHECK(listed(binomial_graph(2, {}).neighbours(1)) == ranks{0});
  CHECK(binomial_graph(1, {}).neighbours(0).size() == 0);
}

TEST_CASE("a known death adds the neighbours in the ring of the living", "[revoke]") {
  const ranks dead{1};
  const binomial_graph g(8, dead);
  CHECK(g.living() == 7);
  // Without rank 1 the indices of 0, 2, 3, 4, 5, 6, 7 are 0 to 6.
  CHECK(listed(g.neighbours(0)) == ranks{4, 3, 5, 2, 6, 7});
  CHECK(listed(g.skipped(0)) == ranks{1});
  CHECK(listed(g.skipped(4)).empty());
  CHECK(listed(g.neighbours(1)) == ranks{5, 3, 7, 2, 0});  // what it would tell if it lived
}

TEST_CASE("degrees are what a count gives, and grow with the logarithm", "[revoke]") {
  for (std::uint32_t n = 1; n <= 300; ++n) {
    INFO("n " << n);
    CHECK(binomial_degree(n) == by_definition(n, {}, n / 2).size());
  }
  CHECK(binomial_degree(1024) == 19);
  CHECK(binomial_degree(1U << 20U) == 39);
  // One known death costs a few more neighbours.
  std::size_t most = 0;
  for (std::uint32_t rank = 1; rank < 1024; ++rank) {
    const ranks dead{0};
    most = std::max(most, binomial_graph(1024, dead).neighbours(rank).size());
  }
  CHECK(most <= 27);
}

TEST_CASE("drawn graphs have the edges of the definition, each once, the living only", "[revoke]") {
  scoll::random_generator random(5);
  for (int round = 0; round < 3000; ++round) {
    const auto n = static_cast<std::uint32_t>(1 + random.below(round % 2 == 0 ? 12 : 200));
    ranks dead;
    const auto share = random.below(4);
    for (std::uint32_t r = 0; r < n; ++r) {
      if (random.below(4) < share) dead.push_back(r);
    }
    const binomial_graph g(n, dead);
    const auto rank = static_cast<std::uint32_t>(random.below(n));
    const ranks found = listed(g.neighbours(rank));
    INFO("round " << round << ", n " << n << ", rank " << rank << ", dead " << dead.size());
    const std::set<std::uint32_t> once(found.begin(), found.end());
    REQUIRE(once.size() == found.size());
    REQUIRE(once == by_definition(n, dead, rank));
    const auto far = [&](std::uint32_t r) { return std::min((r + n - rank) % n, (rank + n - r) % n); };
    REQUIRE(std::is_sorted(found.begin(), found.end(),
                           [&](std::uint32_t left, std::uint32_t right) { return far(left) > far(right); }));
    // The edges of those who see the same dead go both ways.
    if (g.is_dead(rank)) continue;
    for (const std::uint32_t other : found) REQUIRE(g.neighbours(other).contains(rank));
  }
}
