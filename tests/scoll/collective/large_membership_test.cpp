#include <algorithm>
#include <chrono>

#include "outsider.hpp"
#include "probe.hpp"
#include "scoll/collective/group_admin.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/region_table.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

constexpr std::uint64_t entities = 50'000;

/// The nodes of a cluster with 50,000 entities over them: 800 KB.
std::vector<target> with_entities(const virtual_cluster& c) {
  std::vector<target> targets = c.targets();
  for (std::uint64_t e = 0; e < entities; ++e) targets[e % targets.size()].entities.push_back({e, ~e});
  return targets;
}

/// Counts the entities of all members.
struct counting {
  static constexpr service_id id{0x0601};
  struct request {};
  struct reply {
    sum<std::uint64_t> entities;
  };
  static reply execute(const request&, bcast_context& c) { return {{c.entities().size()}}; }
};

std::size_t regions(virtual_cluster& c, std::uint32_t node) {
  return c.engine(node).wire().memory().regions().size();
}

}  // namespace

TEST_CASE("a membership that no message holds is pulled from parent to child", "[large]") {
  constexpr std::uint32_t n = 9;
  for (const tree_spec& tree :
       {tree_spec(flat{}), tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{3})}) {
    for (const populate when : {populate::immediate, populate::delayed}) {
      INFO(to_string(tree) << (when == populate::delayed ? " delayed" : " immediate"));
      virtual_cluster c(n);
      c.serve(counting{});
      const auto targets = with_entities(c);
      const std::size_t size = detail::membership_bytes(*membership::make(targets).value());
      REQUIRE(size > 800'000);
      group_options options;
      options.tree = tree;
      options.populate = when;
      const auto g = c.run(c[2].create_group<counting>(targets, options)).value();
      const auto r = c.bcast(g, {});
      INFO(describe(r.outcome()));
      REQUIRE(r.ok());
      REQUIRE(r->entities.value == entities);
      // Nobody serves more than its children, and nothing stays exposed.
      const tree_view view(tree, n, 2);
      for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint64_t sent = c.engine(i).wire().statistics().bytes_sent;
        const std::uint64_t served = view.children(i).size() * size;
        CHECK(sent >= served);
        CHECK(sent < served + 60'000);
        CHECK(regions(c, i) == 0);
        CHECK(c[i].find_group<counting>(g.id()).value().members().digest() == g.members().digest());
      }
      const auto before = c.engine(2).wire().statistics().bytes_sent;
      REQUIRE(c.bcast(g, {}).ok());
      CHECK(c.engine(2).wire().statistics().bytes_sent - before < 20'000);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a membership that fits rides in the message, and one byte more does not", "[large]") {
  virtual_cluster c(2);
  c.serve(counting{});
  for (const std::size_t extra : {468U, 469U, 470U, 471U, 472U, 480U}) {
    std::vector<target> targets = c.targets();
    targets[1].entities.resize(extra);
    for (std::size_t e = 0; e < extra; ++e) targets[1].entities[e] = {e, e};
    for (const populate when : {populate::immediate, populate::delayed}) {
      group_options options;
      options.populate = when;
      const auto g = c.run(c[0].create_group<counting>(targets, options)).value();
      REQUIRE(c.bcast(g, {})->entities.value == extra);
      REQUIRE(c.run(c[0].destroy(g)).has_value());
    }
  }
}

TEST_CASE("the members that were not asked at first pull from whoever asks them", "[large]") {
  constexpr std::uint32_t n = 6;
  virtual_cluster c(n);
  c.serve(counting{});
  const auto targets = with_entities(c);
  group_options options;
  options.tree = chain{};
  options.populate = populate::delayed;
  const auto g = c.run(c[0].create_group<counting>(targets, options)).value();
  REQUIRE(c.bcast(g.only({0, 3}), {}).ok());
  const auto mine = c[3].find_group<counting>(g.id()).value();
  const std::uint64_t before = c.engine(0).wire().statistics().bytes_sent;
  REQUIRE(c.bcast(mine, {})->entities.value == entities);
  CHECK(c.engine(0).wire().statistics().bytes_sent - before < 900'000);
  REQUIRE(c.quiet());
}

TEST_CASE("two requests for one group share a pull, and a parent that leaves is no loss", "[large]") {
  virtual_cluster c(4, {}, 100us);
  c.serve(counting{});
  const auto targets = with_entities(c);
  group_options options;
  options.tree = flat{};
  options.populate = populate::delayed;
  const auto g = c.run(c[0].create_group<counting>(targets, options)).value();
  REQUIRE(c.bcast(g.only({0, 1}), {}).ok());
  const auto other = c[1].find_group<counting>(g.id()).value();
  for (const bool leaves : {false, true}) {
    INFO("leaves " << leaves);
    const std::uint32_t to = leaves ? 3 : 2;
    c.network.path(0, to).model.ps_per_byte = 100'000;
    stop_source stop;
    flight<counting> first(c, g.only({0, to}), {}, {.stop = stop.token()});
    c.ex.run_for(2ms);
    flight<counting> second(c, other.only({1, to}), {});
    c.ex.run_for(1ms);
    REQUIRE(c[to].snapshot().admissions_waiting == 2);
    const std::uint64_t before = c.engine(1).wire().statistics().bytes_sent;
    if (leaves) stop.request_stop();
    CHECK(second.land().ok());
    CHECK(first.land().ok() == !leaves);
    if (leaves) {
      CHECK(first.land().outcome().state(to) != member_state::merged);
      CHECK(c.engine(1).wire().statistics().bytes_sent - before > 800'000);
    } else {
      CHECK(c.engine(1).wire().statistics().bytes_sent - before < 10'000);
    }
  }
  REQUIRE(c.quiet());
}

TEST_CASE("a creation by descriptor that fails leaves no state anywhere", "[large]") {
  constexpr std::uint32_t n = 5;
  for (const tree_spec& tree : {tree_spec(flat{}), tree_spec(chain{}), tree_spec(knomial{2})}) {
    for (std::uint32_t without = 1; without < n; ++without) {
      INFO(to_string(tree) << " without " << without);
      virtual_cluster c(n);
      for (std::uint32_t i = 0; i < n; ++i) {
        if (i != without) c[i].serve(counting{}).value();
      }
      const auto targets = with_entities(c);
      group_options options;
      options.tree = tree;
      const auto made = c.run(c[0].create_group<counting>(targets, options));
      REQUIRE(made.error() == errc::unknown_service);
      for (std::uint32_t i = 0; i < n; ++i) {
        CHECK(c.engine(i).groups() == 0);
        CHECK(regions(c, i) == 0);
      }
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a creation that is cut short leaves no state anywhere", "[large]") {
  constexpr std::uint32_t n = 4;
  for (nanoseconds limit = 1ms; limit < 40ms; limit += 3ms) {
    INFO(limit.count());
    virtual_cluster c(n, {}, 100us);
    c.serve(counting{});
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t j = 0; j < n; ++j) c.network.path(i, j).model.ps_per_byte = 10'000;
    }
    const auto targets = with_entities(c);
    group_options options;
    options.tree = chain{};
    options.deadline = limit;
    const auto made = c.run(c[0].create_group<counting>(targets, options));
    c.ex.run_for(2s);
    for (std::uint32_t i = 0; i < n; ++i) {
      CHECK(c.engine(i).groups() == (made ? 1 : 0));
      CHECK(c[i].snapshot().admissions_waiting == 0);
      CHECK(regions(c, i) == 0);
    }
    REQUIRE(c.quiet());
  }
}
