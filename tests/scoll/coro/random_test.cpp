#include "scoll/coro/random.hpp"

#include <array>
#include <cstdint>

#include "tests/catch.hpp"

using namespace scoll;

TEST_CASE("the random generator is xoshiro256** seeded by splitmix64") {
  random_generator zero(0);
  for (const std::uint64_t expected : {0x99ec5f36cb75f2b4u, 0xbf6e1f784956452au, 0x1a5f849d4933e6e0u,
                                       0x6aa594f1262d2d2cu, 0xbba5ad4a1f842e59u, 0xffef8375d9ebcacau}) {
    CHECK(zero.next() == expected);
  }
  random_generator other(1234567);
  std::uint64_t value = 0;
  for (int i = 0; i < 1000; ++i) value = other.next();
  CHECK(value == 0x3be7f2876df677c2u);
}

TEST_CASE("random numbers below a bound are spread evenly and repeat with their seed") {
  random_generator a(42);
  random_generator b(42);
  std::array<int, 7> seen{};
  for (int i = 0; i < 70'000; ++i) {
    const std::uint64_t x = a.below(7);
    REQUIRE(x == b.below(7));
    REQUIRE(x < 7);
    ++seen[x];
  }
  for (const int n : seen) CHECK((n > 9'600 && n < 10'400));
  CHECK(a.below(1) == 0);
  for (int i = 0; i < 1000; ++i) CHECK(a.below(UINT64_MAX) < UINT64_MAX);
  int hits = 0;
  for (int i = 0; i < 40'000; ++i) hits += a.chance(1, 4) ? 1 : 0;
  CHECK((hits > 9'600 && hits < 10'400));
  CHECK_FALSE(a.chance(0, 4));
  CHECK(a.chance(4, 4));
}
