#include <algorithm>
#include <optional>
#include <vector>

#include "cluster.hpp"
#include "scoll/bulk/predict.hpp"
#include "scoll/collective/plan_tree.hpp"
#include "scoll/tree/flat.hpp"
#include "tests/catch.hpp"
#include "tests/support/bytes.hpp"

using namespace scoll;
using namespace std::chrono_literals;

namespace {

constexpr std::uint64_t mib = 1U << 20U;

/// Lets bulk data pass, or takes it in a place.
template <bool Passes>
struct taker {
  static constexpr service_id id{Passes ? 0x0312 : 0x0313};
  static constexpr std::uint32_t bulk_window = Passes ? 4 : 0;
  struct request {};
  std::vector<std::vector<std::byte>>* places;

  status prepare(request&, bcast_context& c) const {
    if (Passes || c.is_root() || !c.bulk()) return {};
    auto& place = (*places)[c.rank()];
    place.resize(c.bulk()->length);
    return c.receive_bulk(place);
  }
  static status on_bulk(const bulk_chunk&, bcast_context&) { return {}; }
  static void execute(const request&, bcast_context&) {}
};
using stored = taker<false>;
using passed = taker<true>;

/// A cluster with groups of both services, rooted at rank 0.
struct choice_party {
  explicit choice_party(std::uint32_t n, const node_options& base = {}) : places(n), c(n, base) {
    c.serve(stored{&places});
    c.serve(passed{&places});
    g = c.make_group<stored>(0, knomial{8});
    through = c.make_group<passed>(0, knomial{8});
  }
  bulk_report report(std::size_t bytes, bcast_options how = {}) {
    return of(c.bcast(g, {}, with(bytes, how)));
  }
  bulk_report report_passing(std::size_t bytes, bcast_options how = {}) {
    return of(c.bcast(through, {}, with(bytes, how)));
  }
  bcast_options with(std::size_t bytes, bcast_options how) {
    object = test::made(bytes, 7);
    how.bulk = object;
    return how;
  }

  std::vector<std::vector<std::byte>> places;  // before the nodes, whose hooks use it
  test::virtual_cluster c;
  group<stored> g;
  group<passed> through;
  std::vector<std::byte> object;

 private:
  template <class Result>
  static bulk_report of(const Result& r) {
    INFO(describe(r.outcome()));
    REQUIRE(r.ok());
    REQUIRE(r.bulk());
    return *r.bulk();
  }
};

bulk_members members_of(std::uint32_t n, std::uint32_t on_one_host = 1) {
  return {n, on_one_host, shape_of(knomial{8}, n)};
}

std::uint64_t ns(nanoseconds d) {
  return static_cast<std::uint64_t>(d.count());
}

/// Links of n members on hosts of so many each.
link_map links_of(std::uint32_t n, std::uint32_t per_host, const bulk_costs& costs) {
  link_map links;
  links.classes = {{"network", {}, costs}};
  for (std::uint32_t i = 0; i < n; ++i) links.host_of.push_back(i / per_host);
  return links;
}

}  // namespace

TEST_CASE("a result tells plan, pieces, and the predicted and real time of bulk data", "[plan]") {
  choice_party p(9);
  bcast_options pinned;
  pinned.bulk_plan = bulk_plan::binary();
  pinned.bulk_piece_bytes = 256 * 1024;
  const bulk_report told = p.report(2 * mib, pinned);
  CHECK(told.plan == bulk_plan::binary());
  CHECK(told.piece_bytes == 256 * 1024);
  const auto pieces = bulk_pieces::divide(2 * mib, 256 * 1024).value();
  CHECK(ns(told.predicted) == predict_bulk(bulk_plan::binary(), members_of(9), pieces, {}));
  // The request, the order, the piece on two more levels, and the answers: 10 us each at least.
  CHECK(told.taken >= 60us);
  CHECK(told.taken < 5ms);
}

TEST_CASE("a result without bulk data, or of a refused broadcast, tells nothing of it", "[plan]") {
  choice_party p(3);
  CHECK_FALSE(p.c.bcast(p.g, {}).bulk());
  bcast_options wrong;
  wrong.bulk_piece_bytes = 1000;
  CHECK_FALSE(p.c.bcast(p.g, {}, p.with(mib, wrong)).bulk());
}

TEST_CASE("the root chooses the plan with the least predicted time", "[plan]") {
  choice_party p(17);
  for (const std::size_t bytes : {std::size_t{1}, std::size_t{300'000}, std::size_t{4 * mib}}) {
    const auto expected = choose_bulk(members_of(17), bytes, {}).value();
    const bulk_report told = p.report(bytes);
    CHECK(told.plan == expected.plan);
    CHECK(told.piece_bytes == expected.piece_bytes);
    CHECK(ns(told.predicted) == expected.predicted_ns);
    CHECK(p.report_passing(bytes).plan.can_pass());
  }
}

TEST_CASE("a group chooses by its own costs, a node's other groups by the node's", "[plan]") {
  node_options base;
  base.bulk_costs = {.piece_ns = 1, .link_ps = 1000, .hash_ps = 0, .host_ps = 0};
  choice_party p(9, base);
  const bulk_costs slow_pieces{.piece_ns = 10'000'000, .link_ps = 1, .hash_ps = 0, .host_ps = 0};
  CHECK(ns(p.report(4 * mib).predicted) ==
        choose_bulk(members_of(9), 4 * mib, base.bulk_costs)->predicted_ns);
  REQUIRE(p.g.use_bulk_costs(slow_pieces).has_value());
  const bulk_report told = p.report(4 * mib);
  const bulk_choice expected = choose_bulk(members_of(9), 4 * mib, slow_pieces).value();
  CHECK(ns(told.predicted) == expected.predicted_ns);
  CHECK(told.plan == expected.plan);
  CHECK(told.piece_bytes == 1U << 20U);
  CHECK(ns(p.report_passing(4 * mib).predicted) ==
        choose_bulk(members_of(9), 4 * mib, base.bulk_costs, {.passing = true})->predicted_ns);
}

TEST_CASE("a pinned plan is used unless a broadcast names another one", "[plan]") {
  node_options base;
  base.bulk_plan = bulk_plan::circulant();
  choice_party p(5, base);
  CHECK(p.report(mib).plan == bulk_plan::circulant());
  // Pieces cannot pass through a few slots by that plan, so that it is not used where they must.
  CHECK(p.report_passing(mib).plan.can_pass());
  bcast_options named;
  named.bulk_plan = bulk_plan::chain();
  CHECK(p.report(mib, named).plan == bulk_plan::chain());

  group_options pins;
  pins.bulk_plan = bulk_plan::knomial(4);
  p.g = p.c.run(p.c[0].create_group<stored>(p.c.targets(), pins)).value();
  CHECK(p.report(mib).plan == bulk_plan::knomial(4));
  p.g = p.c.run(p.g.only(rank_set::all(4)).settle()).value();  // the same group: it is an immediate one
  CHECK(p.report(mib).plan == bulk_plan::knomial(4));

  base.bulk_plan = bulk_plan::unchecked(9, 0);
  CHECK(base.validate().error() == errc::invalid_argument);
}

TEST_CASE("where all members share a host, the first plan that keeps it busy is chosen", "[plan]") {
  choice_party p(8);
  const bulk_costs costs{.piece_ns = 1000, .link_ps = 300, .hash_ps = 60, .host_ps = 600};
  REQUIRE(p.g.use_bulk_costs(links_of(8, 1, costs)).has_value());
  CHECK(p.report(8 * mib).plan != bulk_plan::whole());
  REQUIRE(p.g.use_bulk_costs(links_of(8, 8, costs)).has_value());
  CHECK(p.report(65'536).plan == bulk_plan::whole());
  CHECK(p.report(mib).piece_bytes == 65'536);  // 16 pieces for 7 hops
  const bulk_report told = p.report(8 * mib);
  CHECK(told.plan == bulk_plan::chain());
  CHECK(told.piece_bytes == 1U << 18U);
  CHECK(ns(told.predicted) >= 7 * 8 * mib * 600 / 1000);
}

TEST_CASE("members on one host are counted by rank, and among those addressed", "[plan]") {
  choice_party p(9);
  p.g = p.c.make_group<stored>(4, knomial{8});  // rooted at rank 4, which is member 0 of the map
  const bulk_costs costs{.piece_ns = 1, .link_ps = 1, .hash_ps = 0, .host_ps = 1000};
  REQUIRE(p.g.use_bulk_costs(links_of(9, 3, costs)).has_value());
  CHECK(ns(p.report(mib).predicted) == 3 * mib);
  // Ranks 4 to 6 share a host, then 7, 8 and 0, then 1 to 3.
  rank_set some;
  some.append(0, 1);
  some.append(3, 5);
  some.append(7, 8);
  const auto r = p.c.bcast(p.g.only(some), {}, p.with(mib, {}));
  REQUIRE(r.ok());
  CHECK(ns(r.bulk()->predicted) == 2 * mib);
}

TEST_CASE("links that do not fit a group are refused", "[plan]") {
  choice_party p(4);
  CHECK(p.g.use_bulk_costs(links_of(5, 1, {})).error() == errc::invalid_argument);
  CHECK(p.g.use_bulk_costs(link_map::uniform({})).error() == errc::invalid_argument);
  CHECK(group<stored>().use_bulk_costs(bulk_costs{}).error() == errc::invalid_argument);
}

TEST_CASE("the costs of several classes of links are the worst of them", "[plan]") {
  link_map links;
  links.classes = {
      {"near", {}, bulk_costs{1, 20, 3, 40, 5}}, {"unknown", {}}, {"far", {}, bulk_costs{10, 2, 30, 4, 50}}};
  CHECK(links.bulk() == bulk_costs{10, 20, 30, 40, 50});
  CHECK_FALSE(link_map::uniform({}).bulk());
}

TEST_CASE("a group can choose by the links that a plan for its tree has measured", "[plan]") {
  choice_party p(5);
  for (std::uint32_t i = 0; i < 5; ++i) serve_link_probe(p.c[i], {i + 1, 0}).value();
  const auto plan = p.c.run(plan_tree(p.c[0], p.c.targets()));
  REQUIRE(plan.has_value());
  REQUIRE(plan->links.bulk());
  // The wires take 10 us and nothing else; after some pieces a member has to order more.
  const bulk_costs found = *plan->links.bulk();
  CAPTURE(found.piece_ns, found.link_ps, found.hash_ps, found.host_ps, found.hop_ns);
  CHECK((found.link_ps == 0 && found.hash_ps == 0 && found.host_ps == 0));
  CHECK(found.piece_ns < 3000);
  CHECK(2 * found.hop_ns + found.piece_ns >= 19'999);
  REQUIRE(p.g.use_bulk_costs(plan->links).has_value());
  CHECK(ns(p.report(mib).predicted) == choose_bulk(members_of(5), mib, found)->predicted_ns);
}
