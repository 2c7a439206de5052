#include <algorithm>
#include <map>
#include <vector>

#include "probe.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/scoll/collective/trees.hpp"
#include "tests/support/bytes.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

constexpr nanoseconds longest = 20s;  // for the bulk data
constexpr std::size_t piece_bytes = 64 * 1024;

/// What the members have got and done.
struct stores {
  explicit stores(std::uint32_t n) : places(n), executed(n), failed(n) {}
  std::vector<std::vector<std::byte>> places;
  std::vector<std::uint32_t> executed, failed;
  nanoseconds works{0};
};

/// Takes an object into a place, and executes once it is there.
struct storing {
  static constexpr service_id id{0x0330};
  struct request {};
  struct reply {
    sum<std::uint64_t> members;  // a bit for each
  };
  stores* here;

  status prepare(request&, bcast_context& c) const {
    if (c.is_root()) return {};
    auto& place = here->places[c.rank()];
    place.assign(c.bulk()->length, std::byte{0});
    return c.receive_bulk(place);
  }
  task<result<reply>> execute(const request&, bcast_context& c) const {
    ++here->executed[c.rank()];
    if (here->works.count() != 0) co_await sleep_for(here->works);
    co_return reply{{std::uint64_t{1} << c.rank()}};
  }
  void bulk_failed(const error&, bcast_context& c) const noexcept { ++here->failed[c.rank()]; }
};

/// Lets the pieces pass by, and counts their bytes.
struct passing {
  static constexpr service_id id{0x0331};
  static constexpr std::uint32_t bulk_window = 2;
  struct request {};
  struct reply {
    sum<std::uint64_t> members;  // a bit for each
  };
  std::map<std::uint32_t, std::uint64_t>* seen;

  status on_bulk(const bulk_chunk& chunk, bcast_context& c) const {
    (*seen)[c.rank()] += chunk.bytes.size();
    return {};
  }
  reply execute(const request&, bcast_context& c) const { return {{std::uint64_t{1} << c.rank()}}; }
};

void bury_one(cluster& c, std::uint32_t victim) {
  c.kill(victim);
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    if (i != victim) c.engine(i).on_dead(victim + 1, 1);
  }
}

bcast_options repaired(const std::vector<std::byte>& object, bulk_plan plan) {
  bcast_options options;
  options.on_failure = repair;
  options.bulk = std::span(object);
  options.bulk_plan = plan;
  options.bulk_piece_bytes = piece_bytes;
  options.bulk_time = longest;
  return options;
}

std::uint64_t all_but(std::uint32_t n, std::uint32_t victim) {
  return ((std::uint64_t{1} << n) - 1) & ~(std::uint64_t{1} << victim);
}

}  // namespace

TEST_CASE("survivors get their bulk data and execute once, whoever dies on the way", "[repair]") {
  const auto object = made(5 * piece_bytes + 17, 1);
  std::uint64_t rounds = 0;
  for (const bulk_plan& plan : {bulk_plan::whole(), bulk_plan::chain(), bulk_plan::circulant()}) {
    for (const tree_spec& tree : {tree_spec(chain{}), tree_spec(knomial{2})}) {
      constexpr std::uint32_t n = 8;
      for (std::uint32_t victim = 1; victim < n; ++victim) {
        for (const nanoseconds moment : {5us, 15us, 25us, 60us, 200us, 600us, 1500us, 4000us}) {
          INFO(to_string(plan) << " over " << to_string(tree) << ", " << victim << " dies after "
                               << moment.count() << " ns");
          virtual_cluster c(n);
          stores here(n);
          c.serve(storing{&here});
          const auto g = c.make_group<storing>(0, tree);
          here.works = 2ms;
          flight<storing> f(c, g, {}, repaired(object, plan));
          c.pass(moment);
          bury_one(c, victim);
          auto& r = f.land();
          INFO(describe(r.outcome()));
          for (std::uint32_t i = 1; i < n; ++i) {
            if (i == victim) continue;
            REQUIRE(r.outcome().state(i) == member_state::merged);
            REQUIRE(here.executed[i] == 1);
            REQUIRE(here.failed[i] == 0);
            REQUIRE(same(here.places[i], object));
          }
          REQUIRE(f.took() < 1s);
          REQUIRE((r->members.value & all_but(n, victim)) == all_but(n, victim));
          rounds += c.engine(0).statistics().repair_rounds;
          c.revive(victim);
          c.pass(2 * longest);  // members may wait for readers that never come
          REQUIRE(c.quiet());
          for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).bulk_data().running() == 0);
        }
      }
    }
  }
  CHECK(rounds > 100);
}

TEST_CASE("pieces pass by the survivors in a further round, too", "[repair]") {
  const auto object = made(9 * piece_bytes, 1);
  constexpr std::uint32_t n = 7;
  for (std::uint32_t victim = 1; victim < n; ++victim) {
    INFO(victim << " dies");
    virtual_cluster c(n);
    std::map<std::uint32_t, std::uint64_t> seen;
    c.serve(passing{&seen});
    const auto g = c.make_group<passing>(0, chain{});
    flight<passing> f(c, g, {}, repaired(object, bulk_plan::chain()));
    c.pass(15us);  // before the request has come to all
    bury_one(c, victim);
    auto& r = f.land();
    INFO(describe(r.outcome()));
    REQUIRE((r->members.value & all_but(n, victim)) == all_but(n, victim));
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i != victim) CHECK(seen[i] == object.size());
    }
    c.revive(victim);
    c.pass(2 * longest);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("without a loss a repaired broadcast with bulk data is like any other", "[repair]") {
  constexpr std::uint32_t n = 9;
  const auto object = made(3 * piece_bytes, 1);
  virtual_cluster c(n);
  stores here(n);
  c.serve(storing{&here});
  const auto g = c.make_group<storing>(4, knomial{2});
  bcast_options options = repaired(object, bulk_plan::chain());
  const auto requests = [&] {
    std::uint64_t all = 0;
    for (std::uint32_t i = 0; i < n; ++i) all += c[i].wire().statistics().requests_sent;
    return all;
  };
  REQUIRE(c.bcast(g, {}, options).ok());
  const std::uint64_t before = requests();
  options.on_failure = degrade;
  REQUIRE(c.bcast(g, {}, options).ok());
  const std::uint64_t plain = requests() - before;
  options.on_failure = repair;
  REQUIRE(c.bcast(g, {}, options).ok());
  CHECK(requests() - before == 2 * plain);
  CHECK(c.engine(4).statistics().repair_rounds == 0);
  REQUIRE(c.quiet());
}
