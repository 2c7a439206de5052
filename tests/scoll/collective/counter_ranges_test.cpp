#include "scoll/collective/counter_ranges.hpp"

#include <array>
#include <limits>
#include <set>

#include "scoll/coro/random.hpp"
#include "tests/catch.hpp"
#include "transport/wire/varint.hpp"

using namespace scoll;
using namespace scoll::detail;

namespace {

counter_ranges ranges_of(const std::set<std::uint64_t>& counters) {
  counter_ranges ranges;
  for (const std::uint64_t counter : counters) add_counter(ranges, counter);
  return ranges;
}

std::set<std::uint64_t> draw(random_generator& random, std::uint64_t end) {
  std::set<std::uint64_t> counters;
  for (std::uint64_t counter = 1; counter < end; ++counter) {
    if (random.chance(1, 2)) counters.insert(counter);
  }
  return counters;
}

}  // namespace

TEST_CASE("counters become ranges that do not touch", "[sweep]") {
  CHECK(ranges_of({}).empty());
  CHECK(ranges_of({1, 2, 3, 5, 7, 8}) == counter_ranges{{1, 3}, {5, 5}, {7, 8}});
  const counter_ranges some{{2, 4}, {9, 9}};
  for (const std::uint64_t counter : {0U, 1U, 5U, 8U, 10U}) CHECK_FALSE(contains(some, counter));
  for (const std::uint64_t counter : {2U, 3U, 4U, 9U}) CHECK(contains(some, counter));
}

TEST_CASE("the difference of two sets of counters has the counters of one that are not in the other",
          "[sweep]") {
  random_generator random(5);
  for (int round = 0; round < 2000; ++round) {
    const auto all = draw(random, 24), without = draw(random, 24);
    std::set<std::uint64_t> left;
    for (const std::uint64_t counter : all) {
      if (!without.contains(counter)) left.insert(counter);
    }
    REQUIRE(difference(ranges_of(all), ranges_of(without)) == ranges_of(left));
  }
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(difference(counter_ranges{{1, most}}, counter_ranges{{5, most}}) == counter_ranges{{1, 4}});
}

TEST_CASE("ranges are read as they were written", "[sweep]") {
  random_generator random(6);
  std::array<std::byte, 256> bytes{};
  for (int round = 0; round < 2000; ++round) {
    const counter_ranges ranges = ranges_of(draw(random, 60));
    wire::writer out(bytes);
    REQUIRE(put_counters(out, ranges, bytes.size()) == ranges.size());
    REQUIRE(take_counters(out.written()).value() == ranges);
  }
  const counter_ranges far{{1, 1}, {1'000'000'000'000, 1'000'000'000'000'000'000}};
  wire::writer out(bytes);
  REQUIRE(put_counters(out, far, bytes.size()) == 2);
  CHECK(take_counters(out.written()).value() == far);
}

TEST_CASE("ranges that do not fit are left for the next message", "[sweep]") {
  counter_ranges ranges;
  for (std::uint64_t counter = 1; counter < 2000; counter += 2) add_counter(ranges, counter);
  std::array<std::byte, 64> bytes{};
  wire::writer out(bytes);
  const std::size_t written = put_counters(out, ranges, 21);
  CHECK(written == 10);
  CHECK(out.needed() == 20);
  ranges.resize(written);
  CHECK(take_counters(out.written()).value() == ranges);
}

TEST_CASE("bytes that are not ranges are refused", "[sweep]") {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const auto refused = [](std::initializer_list<std::uint64_t> values) {
    std::array<std::byte, 64> bytes{};
    wire::writer out(bytes);
    for (const std::uint64_t value : values) wire::put_varint(out, value);
    const auto read = take_counters(out.written());
    return !read && read.error() == errc::malformed;
  };
  CHECK(refused({0, 3}));
  CHECK(refused({1}));
  CHECK(refused({1, 1, 1, 0}));  // it touches the range before
  CHECK(refused({1, 1, 0, 0}));
  CHECK(refused({most, 0}));
  CHECK(refused({5, most - 5}));
  CHECK(refused({5, 5, most - 5, 0}));
  CHECK_FALSE(refused({1, 1, 2, 0}));
  CHECK_FALSE(refused({}));
}
