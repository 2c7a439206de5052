#include "scoll/collective/subset.hpp"

#include <set>

#include "probe.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// Checks that exactly `ranks` executed and are merged, and that no other member was touched.
void check_only(const bcast_result<probe::reply>& r, probe_log& log, const rank_set& ranks, std::uint32_t n) {
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  REQUIRE(r.outcome().clean());
  REQUIRE(r.outcome().members() == n);
  REQUIRE(r.outcome().merged() == ranks);
  REQUIRE(r.outcome().in(member_state::excluded) == rank_set::all(n) - ranks);
  std::uint64_t total = 0;
  ranks.for_each([&](std::uint32_t rank) { total += rank + 1; });
  REQUIRE(r->total.value == total);
  REQUIRE(r->members.value == ranks.size());
  for (std::uint32_t rank = 0; rank < n; ++rank)
    REQUIRE(log.executed[rank] == (ranks.contains(rank) ? 1 : 0));
}

/// Reports how deep in the tree a member is, by rewriting the request on the way.
struct stepping {
  static constexpr service_id id{0x0777};
  struct request {
    std::uint32_t hops = 0;
  };
  struct reply {
    sum<std::uint32_t> members;
    maximum<std::uint32_t> deepest;
  };
  status prepare(request& r, bcast_context& c) {
    if (!c.is_root()) ++r.hops;
    return {};
  }
  result<reply> execute(const request& r, bcast_context&) { return reply{{1}, {r.hops}}; }
};

}  // namespace

TEST_CASE("sets of ranks are joined, cut and subtracted") {
  const rank_set a{1, 2, 3, 7, 9}, b{3, 4, 7, 8};
  CHECK((a | b) == rank_set{1, 2, 3, 4, 7, 8, 9});
  CHECK((a & b) == rank_set{3, 7});
  CHECK((a - b) == rank_set{1, 2, 9});
  CHECK((b - a) == rank_set{4, 8});
  CHECK((a - a).empty());
  CHECK((rank_set{} | a) == a);
  CHECK(rank_set::all(5) - rank_set{0, 4} == rank_set{1, 2, 3});
  CHECK(rank_set{4, 2, 4, 3}.ranges() == std::vector<rank_range>{{2, 5}});
  for (unsigned x = 0; x < 64; ++x) {
    for (unsigned y = 0; y < 64; ++y) {
      const auto set = [](unsigned bits) {
        rank_set s;
        for (std::uint32_t i = 0; i < 6; ++i) {
          if ((bits >> i & 1U) != 0) s.append(i, i + 1);
        }
        return s;
      };
      REQUIRE((set(x) | set(y)) == set(x | y));
      REQUIRE((set(x) & set(y)) == set(x & y));
      REQUIRE((set(x) - set(y)) == set(x & ~y));
    }
  }
}

TEST_CASE("a subset counts its members in the order of their ranks") {
  const auto s = detail::subset::make(rank_set{0, 1, 5, 6, 7, 11}, 12).value();
  const std::vector<std::uint32_t> ranks{0, 1, 5, 6, 7, 11};
  REQUIRE(s->size() == 6);
  for (std::uint32_t i = 0; i < 6; ++i) {
    CHECK(s->rank_at(i) == ranks[i]);
    CHECK(s->index_of(ranks[i]) == i);
  }
  for (const std::uint32_t rank : {2U, 4U, 8U, 10U, 12U, 99U}) CHECK_FALSE(s->index_of(rank));
  std::vector<rank_range> seen;
  s->visit(1, 5, [&](std::uint32_t first, std::uint32_t last) { seen.push_back({first, last}); });
  CHECK(seen == std::vector<rank_range>{{1, 2}, {5, 8}});
  const auto read = detail::subset::decode(s->encoded(), 12);
  REQUIRE(read);
  CHECK((*read)->ranks() == s->ranks());
}

TEST_CASE("bytes that are no subset are refused") {
  const auto decode = [](std::vector<std::uint8_t> bytes, std::uint32_t n) {
    return detail::subset::decode(std::as_bytes(std::span(bytes)), n).has_value();
  };
  CHECK(decode({2, 0, 4, 2, 1}, 7));
  CHECK_FALSE(decode({}, 7));
  CHECK_FALSE(decode({0}, 7));
  CHECK_FALSE(decode({2, 0, 4, 2, 1}, 6));  // beyond the group
  CHECK_FALSE(decode({2, 0, 4, 0, 1}, 7));  // touching ranges
  CHECK_FALSE(decode({1, 0, 0}, 7));        // an empty range
  CHECK_FALSE(decode({2, 0, 4}, 7));        // cut short
  CHECK_FALSE(decode({1, 0, 4, 9}, 7));     // left over
  CHECK_FALSE(decode({255, 255, 255, 255, 15, 0, 1}, 7));
  CHECK_FALSE(decode({1, 255, 255, 255, 255, 15, 2}, 7));
}

TEST_CASE("a broadcast to some members spans these alone, from any root", "[world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 13;
  const tree_spec tree = GENERATE(tree_spec(knomial{2}), tree_spec(knomial{3}), tree_spec(flat{}),
                                  tree_spec(chain{}), tree_spec(kary{2}), tree_spec(greedy{30, 2, 1}));
  cluster c(kind, n);
  probe p;
  c.serve(p);
  const std::vector<rank_set> sets{{0},       {0, 12},          {1, 3, 5, 7, 9, 11}, {0, 1, 2, 3},
                                   {4, 8, 9}, {0, 2, 3, 4, 12}, rank_set::all(n)};
  for (std::uint32_t root = 0; root < n; root += 4) {
    const auto g = c.make_group<probe>(root, tree);
    for (const rank_set& ranks : sets) {
      p.log->clear();
      const auto r = c.bcast(g.only(ranks), {});
      if (!ranks.contains(root)) {
        CHECK(r.status().error() == errc::not_member);
        CHECK(r.outcome().not_reached() == ranks);
        CHECK(p.log->executed.empty());
        continue;
      }
      check_only(r, *p.log, ranks, n);
    }
    p.log->clear();
    check_only(c.bcast(g, {}), *p.log, rank_set::all(n), n);  // the whole group is as it was
  }
  CHECK(c.quiet());
}

TEST_CASE("subsets are cut from subsets", "[world]") {
  cluster c(any_kind_of_world(), 10);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  CHECK(g.addressed() == rank_set::all(10));
  CHECK(g.except({3, 4}).addressed() == rank_set::all(10) - rank_set{3, 4});
  CHECK(g.only({0, 1, 2, 3}).except({2}).addressed() == rank_set{0, 1, 3});
  p.log->clear();
  check_only(c.bcast(g.only({0, 1, 2, 3}).except({2}), {}), *p.log, {0, 1, 3}, 10);
}

TEST_CASE("subsets that are none end in an error that says why", "[world]") {
  cluster c(any_kind_of_world(), 4);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, flat{});
  p.log->clear();
  CHECK(c.bcast(g.only({}), {}).status().error() == errc::invalid_argument);
  const auto beyond = c.bcast(g.only({0, 9}), {});
  CHECK(beyond.status().error() == errc::invalid_argument);
  CHECK_THAT(std::string(beyond.status().error().text()), Contains("rank 9"));
  CHECK(beyond.outcome().not_reached().size() == 4);
  CHECK(c.bcast(g.except({0, 1, 2, 3}), {}).status().error() == errc::invalid_argument);
  CHECK(p.log->executed.empty());
}

TEST_CASE("a subset of too many separate ranges says how large it is") {
  rank_set alternate;
  for (std::uint32_t rank = 0; rank < 8000; rank += 2) alternate.append(rank, rank + 1);
  const auto made = detail::subset::make(alternate, 8000);
  REQUIRE_FALSE(made);
  CHECK(made.error() == errc::too_large);
  CHECK_THAT(std::string(made.error().text()), Contains("8002 bytes") && Contains("3584"));
}

TEST_CASE("those who fail in a subset are named by their ranks in the group", "[world]") {
  cluster c(any_kind_of_world({fault::part}), 12);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(5, knomial{2});
  p.log->clear();
  p.log->failing[9] = error(errc::hook_failed, "no");
  c.kill(2);
  const rank_set ranks{0, 2, 5, 7, 9, 11};
  const auto r = c.bcast(g.only(ranks), {}, {.deadline = 200ms});
  INFO(describe(r.outcome()));
  CHECK_FALSE(r.ok());
  CHECK_FALSE(r.outcome().clean());
  CHECK(r.outcome().failed() == rank_set{9});
  CHECK(r.outcome().state(2) >= member_state::not_reached);
  CHECK(r.outcome().in(member_state::excluded) == rank_set::all(12) - ranks);
  std::uint64_t total = 0;
  r.outcome().merged().for_each([&](std::uint32_t rank) { total += rank + 1; });
  CHECK(r->total.value == total);
  CHECK((rank_set::all(12) - ranks - rank_set{}).size() == 6);
  for (const std::uint32_t rank : {1U, 3U, 4U, 6U, 8U, 10U}) CHECK(p.log->executed[rank] == 0);
}

TEST_CASE("a broadcast to the living leaves the dead out and is whole", "[world]") {
  cluster c(any_kind_of_world({fault::part}), 16);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  const std::set<std::uint32_t> fallen{1, 8, 9, 15};
  for (const std::uint32_t i : fallen) {
    c.kill(i);
    for (std::uint32_t j = 0; j < 16; ++j) c[j].on_dead(i + 1, 1);
  }
  p.log->clear();
  const auto r = c.bcast(g.alive(), {});
  check_only(r, *p.log, rank_set::all(16) - rank_set{1, 8, 9, 15}, 16);
  CHECK(r.outcome().dissenting().members == 0);
  CHECK_THAT(describe(r.outcome()), Contains("12 of 12 executed and merged") && Contains("4 not addressed"));
}

TEST_CASE("members whose view of the living differs say so, or take no part if that is asked for",
          "[world]") {
  cluster c(any_kind_of_world(), 16);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  const tree_view tree(knomial{2}, 16, 0);
  c[12].on_dead(4, 1);
  c[13].on_dead(4, 1);
  c[13].on_dead(5, 1);
  p.log->clear();
  const auto heard = c.bcast(g.alive(), {});
  CHECK(heard.ok());
  CHECK(heard.outcome().dissenting().members == 2);
  CHECK((heard.outcome().dissenting().first == 12 || heard.outcome().dissenting().first == 13));

  p.log->clear();
  const auto strict = c.bcast(g.alive(), {}, {.same_view = true});
  CHECK_FALSE(strict.ok());
  check_account(strict, *p.log, 16);
  check_members(strict.outcome(), {12}, member_state::failed, phase::admission, errc::view_differs,
                tree.parent(12));
  CHECK(p.log->executed[12] == 0);
  CHECK(p.log->executed[13] == 0);

  CHECK(c.bcast(g, {}).outcome().dissenting().members == 0);  // sent to all members, so no view matters
}

TEST_CASE("a rewritten request goes to the same subset", "[world]") {
  cluster c(any_kind_of_world(), 9);
  c.serve(stepping{});
  const auto g = c.make_group<stepping>(0, chain{});
  const auto r = c.bcast(g.only({0, 2, 4, 6, 8}), {});
  REQUIRE(r.ok());
  CHECK(r->members.value == 5);
  CHECK(r->deepest.value == 4);
}
