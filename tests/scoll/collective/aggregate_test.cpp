#include <algorithm>
#include <chrono>
#include <string>

#include "probe.hpp"
#include "scoll/coro/random.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

/// Merges copies of `parts` in random order and in random groupings. The result must not depend on the tree.
template <class T>
T merged_somehow(std::vector<T> parts, random_generator& random) {
  while (parts.size() > 1) {
    const std::size_t a = random.below(parts.size());
    std::swap(parts[a], parts.back());
    T from = std::move(parts.back());
    parts.pop_back();
    parts[random.below(parts.size())].merge(from);
  }
  return parts.front();
}

/// Checks a monoid: order and grouping do not matter, the empty value changes nothing, and the value survives
/// encoding.
template <class T, class Make>
void check_monoid(Make make, bool has_neutral = true) {
  random_generator random(31);
  for (int round = 0; round < 40; ++round) {
    std::vector<T> parts;
    const std::size_t count = 1 + random.below(12);
    for (std::size_t i = 0; i < count; ++i) parts.push_back(make(random, static_cast<std::uint32_t>(i)));
    const T expected = merged_somehow(parts, random);
    for (int order = 0; order < 5; ++order) REQUIRE(merged_somehow(parts, random) == expected);
    if (has_neutral) {
      T neutral{};
      neutral.merge(expected);
      REQUIRE(neutral == expected);
      T same = expected;
      same.merge(T{});
      REQUIRE(same == expected);
    }
    std::vector<std::byte> bytes(100000);
    bytes.resize(wire::encode_to(bytes, expected).value());
    REQUIRE(wire::decode_from<T>(bytes).value() == expected);
  }
}

/// The user's own monoid, as a member function: greatest common divisor.
struct divisor {
  std::uint64_t value = 0;
  void merge(const divisor& from) noexcept {
    std::uint64_t b = from.value;
    while (b != 0) value = std::exchange(b, value % b);
  }
  friend bool operator==(const divisor&, const divisor&) = default;
};

/// Every aggregate at once, merged member by member.
struct everything {
  static constexpr service_id id{0x0701};
  static constexpr std::size_t reply_capacity = 20000;
  struct request {
    std::uint32_t seed;
  };
  struct reply {
    sum<std::uint64_t> total;
    minimum<std::int32_t> least;
    maximum<std::int32_t> most;
    all_of all;
    any_of any;
    top_k<std::uint32_t, 3> best;
    set_union<std::string> words;
    concatenation<std::string> said;
    status_map statuses;
    divisor common;
    friend bool operator==(const reply&, const reply&) = default;
  };
  static reply of(std::uint32_t rank, std::uint32_t seed) {
    random_generator random(seed * 1000 + rank);
    reply r;
    r.total.value = random.below(1000);
    r.least.value = static_cast<std::int32_t>(random.below(1000)) - 500;
    r.most.value = r.least.value;
    r.all.value = random.below(10) != 0;
    r.any.value = random.below(10) == 0;
    for (int i = 0; i < 2; ++i) r.best.insert(static_cast<std::uint32_t>(random.below(100)));
    r.words.insert(std::string(1, static_cast<char>('a' + random.below(8))));
    r.said.parts.push_back({rank, random.below(2) == 0, "rank " + std::to_string(rank)});
    r.statuses.add({static_cast<std::int32_t>(random.below(3)) - 1, 1, rank});
    r.common.value = 6 * (1 + random.below(50));
    return r;
  }
  std::shared_ptr<probe_log> log = std::make_shared<probe_log>();

  task<result<reply>> execute(const request& r, bcast_context& c) {
    if (log->work.contains(c.rank())) co_await sleep_for(log->work[c.rank()]);
    reply mine = of(c.rank(), r.seed);
    co_return mine;
  }
};

}  // namespace

TEST_CASE("numbers and truths are monoids", "[aggregate]") {
  check_monoid<sum<std::uint64_t>>([](auto& random, auto) { return sum<std::uint64_t>{random.next()}; });
  check_monoid<sum<std::int16_t>>(
      [](auto& random, auto) { return sum<std::int16_t>{static_cast<std::int16_t>(random.below(2000))}; });
  check_monoid<minimum<std::int64_t>>(
      [](auto& random, auto) { return minimum<std::int64_t>{static_cast<std::int64_t>(random.next())}; });
  check_monoid<maximum<std::int64_t>>(
      [](auto& random, auto) { return maximum<std::int64_t>{static_cast<std::int64_t>(random.next())}; });
  check_monoid<maximum<double>>(
      [](auto& random, auto) { return maximum<double>{-static_cast<double>(random.below(100))}; });
  check_monoid<all_of>([](auto& random, auto) { return all_of{random.below(4) != 0}; });
  check_monoid<any_of>([](auto& random, auto) { return any_of{random.below(4) == 0}; });
  check_monoid<divisor>([](auto& random, auto) { return divisor{random.below(1000)}; });
}

TEST_CASE("containers are monoids", "[aggregate]") {
  check_monoid<top_k<std::uint32_t, 5>>([](auto& random, auto) {
    top_k<std::uint32_t, 5> t;
    for (std::uint64_t i = random.below(8); i != 0; --i)
      t.insert(static_cast<std::uint32_t>(random.below(20)));
    return t;
  });
  check_monoid<set_union<std::string>>([](auto& random, auto) {
    set_union<std::string> s;
    for (std::uint64_t i = random.below(8); i != 0; --i) s.insert(std::to_string(random.below(12)));
    return s;
  });
  check_monoid<concatenation<std::string>>([](auto& random, std::uint32_t rank) {
    concatenation<std::string> c;
    c.parts.push_back({rank, random.below(2) == 0, std::string(random.below(5), 'x')});
    return c;
  });
  check_monoid<status_map>([](auto& random, std::uint32_t rank) {
    status_map m;
    for (std::uint64_t i = 1 + random.below(3); i != 0; --i)
      m.add({static_cast<std::int32_t>(random.below(4)) - 2, 1, rank});
    return m;
  });
}

TEST_CASE("top_k keeps the greatest, equal ones too", "[aggregate]") {
  top_k<int, 3> t;
  for (const int v : {1, 5, 5, 2, 9, 5}) t.insert(v);
  REQUIRE(t.values == std::vector<int>{9, 5, 5});
  top_k<int, 3> other;
  other.insert(7);
  t.merge(other);
  REQUIRE(t.values == std::vector<int>{9, 7, 5});
  top_k<int, 0> none;
  none.insert(1);
  REQUIRE(none.values.empty());
}

TEST_CASE("a concatenation is in the order of ranks, and a status map counts", "[aggregate]") {
  concatenation<int> c{{{3, false, 30}}};
  c.merge({{{1, true, 10}, {5, false, 50}}});
  c.merge({{{0, false, 0}, {4, false, 40}}});
  std::vector<std::uint32_t> ranks;
  for (const auto& p : c.parts) ranks.push_back(p.rank);
  REQUIRE(ranks == std::vector<std::uint32_t>{0, 1, 3, 4, 5});
  REQUIRE(c.parts[1].cut);
  status_map m;
  m.add({-5, 1, 7});
  m.add({0, 1, 2});
  m.merge({{{-5, 2, 3}, {9, 1, 1}}});
  REQUIRE(m.entries == std::vector<status_map::entry>{{-5, 3, 3}, {0, 1, 2}, {9, 1, 1}});
}

TEST_CASE("an aggregate of aggregates comes out the same over every tree and in every order",
          "[aggregate][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 13;
  for (const tree_spec& spec :
       {tree_spec(flat{}), tree_spec(chain{}), tree_spec(kary{2}), tree_spec(knomial{2})}) {
    cluster c(kind, n);
    everything service;
    c.serve(service);
    auto g = c.make_group<everything>(4, spec);
    random_generator random(3);
    for (std::uint32_t seed = 0; seed < 12; ++seed) {
      for (std::uint32_t rank = 0; rank < n; ++rank)
        service.log->work[rank] = nanoseconds(random.below(1000000));
      everything::reply expected = everything::of(0, seed);
      for (std::uint32_t rank = 1; rank < n; ++rank)
        detail::merge_members(expected, everything::of(rank, seed));
      auto r = c.bcast(g, {seed});
      INFO(to_string(spec) << " seed " << seed << " " << describe(r.outcome()));
      REQUIRE(r.ok());
      REQUIRE(*r == expected);
      REQUIRE(r->said.parts.size() == n);
      for (std::uint32_t rank = 0; rank < n; ++rank)
        REQUIRE(r->said.parts[rank].value == "rank " + std::to_string(rank));
    }
    REQUIRE(c.quiet());
  }
}
