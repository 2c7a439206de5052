#include "transport/session/rails/arrival_window.hpp"

#include <cstdint>
#include <random>
#include <set>

#include "tests/catch.hpp"

using namespace scoll::transport;

namespace {

bool bit_of(const arrival_window::bits& bits, std::uint64_t i) {
  return (bits[i / 64] >> (i % 64) & 1) != 0;
}

}  // namespace

TEST_CASE("an arrival window takes each number once, in any order within 256") {
  arrival_window w;
  std::mt19937_64 random(7);
  constexpr std::uint64_t total = 5000;
  std::set<std::uint64_t> arrived;
  while (w.cumulative() < total) {
    const std::uint64_t number = w.cumulative() + 1 + random() % 300;
    const std::uint64_t ahead = number - w.cumulative();
    REQUIRE(w.within(number) == (ahead <= arrival_window::span));
    REQUIRE(w.has(number) == arrived.contains(number));
    if (!w.within(number) || w.has(number)) continue;
    w.add(number);
    arrived.insert(number);
    REQUIRE(w.has(number));
    REQUIRE(w.count() == arrived.size());
    REQUIRE(arrived.contains(w.cumulative()) == (w.cumulative() != 0));
    REQUIRE_FALSE(arrived.contains(w.cumulative() + 1));
  }
}

TEST_CASE("an arrival window knows what lies below it, and takes nothing beyond it") {
  arrival_window w;
  CHECK_FALSE(w.has(0));
  CHECK_FALSE(w.within(0));
  CHECK(w.within(1));
  CHECK(w.within(256));
  CHECK_FALSE(w.within(257));
  CHECK_FALSE(w.within(UINT64_MAX));
  for (std::uint64_t n = 2; n <= 256; ++n) w.add(n);
  CHECK(w.cumulative() == 0);
  CHECK(w.count() == 255);
  CHECK_FALSE(w.within(257));
  w.add(1);
  CHECK(w.cumulative() == 256);
  CHECK(w.has(1));
  CHECK_FALSE(w.has(257));
  CHECK(w.within(512));
  CHECK_FALSE(w.within(513));
  w.reset();
  CHECK(w.count() == 0);
  CHECK_FALSE(w.has(1));
}

TEST_CASE("the bits of an arrival window begin after the number up to which all has arrived") {
  arrival_window w;
  for (const std::uint64_t n : {1U, 2U, 3U, 5U, 68U, 259U}) w.add(n);
  REQUIRE(w.cumulative() == 3);
  const auto bits = w.beyond();
  for (std::uint64_t i = 0; i < arrival_window::span; ++i) {
    INFO("bit " << i);
    CHECK(bit_of(bits, i) == (i == 1 || i == 64 || i == 255));
  }
  CHECK(arrival_window().beyond() == arrival_window::bits{});
}
