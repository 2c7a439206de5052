#include <algorithm>
#include <chrono>
#include <numeric>

#include "probe.hpp"
#include "scoll/coro/random.hpp"
#include "tests/scoll/tree/rack_tree.hpp"
#include "tests/support/build.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

std::vector<tree_spec> all_trees() {
  static const bool registered = register_tree<rack_tree>();
  REQUIRE(registered);
  return {flat{},     chain{},     kary{2},         kary{3},      kary{32},     knomial{2},
          knomial{4}, knomial{32}, greedy{7, 1, 1}, rack_tree{4}, rack_tree{32}};
}

struct traffic {
  std::uint64_t messages = 0;
  std::uint64_t acknowledges = 0;
};

traffic carried(cluster& c) {
  traffic sum;
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    const auto& s = c.engine(i).wire().statistics();
    sum.messages += s.requests_sent + s.replies_sent;
    sum.acknowledges += s.acknowledges_sent;
  }
  return sum;
}

/// Answers only that it was there.
struct silent {
  static constexpr service_id id{0x0601};
  struct request {};
  std::shared_ptr<int> executed = std::make_shared<int>(0);
  void execute(const request&, bcast_context&) { ++*executed; }
};
struct silent_status {
  static constexpr service_id id{0x0602};
  struct request {
    std::uint32_t refuser = 0;
  };
  task<status> execute(const request& r, bcast_context& c) {
    if (c.rank() == r.refuser) co_return error(errc::not_found, "not here");
    co_return status{};
  }
};

}  // namespace

TEST_CASE("a group that was made by default has no members, and a broadcast to it is refused", "[world]") {
  cluster c(any_kind_of_world(), 2);
  const group<probe> none;
  CHECK_FALSE(none.valid());
  CHECK(none.members().size() == 0);
  CHECK(none.shared_members()->size() == 0);
  CHECK(none.addressed().empty());
  CHECK(none.id() == group_id{});
  CHECK(none.rank() == 0);
  CHECK(none.tree() == tree_spec{});
  for (const group<probe>& g : {none, none.alive(), none.only({0}), none.except({0})}) {
    const auto r = c.bcast(g, {});
    CHECK(r.status().error() == errc::invalid_argument);
    CHECK(r.status().error().text().starts_with("the group is empty"));
    CHECK(r.outcome().members() == 0);
    CHECK_FALSE(r.has_value());
  }
  CHECK(c.run(c[0].destroy(none)).error() == errc::invalid_argument);
}

TEST_CASE("every member executes once and is merged, for every tree, size and root", "[bcast][world]") {
  const world_kind kind = any_kind_of_world();
  std::vector<std::uint32_t> sizes(!is_virtual(kind) ? 9 : test::slow_build ? 20 : 40);
  std::iota(sizes.begin(), sizes.end(), 1U);
  if (is_virtual(kind)) sizes.insert(sizes.end(), {63, 64, 65, 100});
  const auto trees = all_trees();
  for (const std::uint32_t n : sizes) {
    cluster c(kind, n);
    probe service;
    c.serve(service);
    for (const tree_spec& spec : trees) {
      for (const std::uint32_t root : std::set<std::uint32_t>{0, n / 2, n - 1}) {
        INFO(to_string(spec) << " n " << n << " root " << root);
        auto g = c.make_group<probe>(root, spec);
        service.log->clear();
        const traffic before = carried(c);
        auto r = c.bcast(g, {3});
        REQUIRE(r.ok());
        REQUIRE(r->total.value == 3 * triangle(n));
        REQUIRE(r->members.value == n);
        REQUIRE(r.outcome().clean());
        REQUIRE(service.log->executed.size() == n);
        REQUIRE(std::all_of(service.log->executed.begin(), service.log->executed.end(),
                            [](const auto& e) { return e.second == 1; }));
        REQUIRE(service.log->replied == service.log->executed);
        REQUIRE(carried(c).messages - before.messages == 2 * (n - 1));
        REQUIRE(c.run(c[root].destroy(g)).has_value());
      }
    }
    REQUIRE(c.quiet());
    for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).groups() == 0);
  }
}

TEST_CASE("a busy run needs no message but requests and replies", "[bcast][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 16;
  for (const tree_spec& spec : all_trees()) {
    cluster c(kind, n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    REQUIRE(c.bcast(g, {}).ok());
    const traffic before = carried(c);
    constexpr std::uint32_t rounds = 300;
    std::uint32_t slow = 0;  // an acknowledgement leaves alone only if nothing else has for its delay
    for (std::uint32_t i = 0; i < rounds; ++i) {
      const time_point began = c.now();
      REQUIRE(c.bcast(g, {i}).ok());
      slow += c.now() - began >= transport::endpoint_options{}.acknowledge_delay / 2;
    }
    const traffic after = carried(c);
    INFO(to_string(spec));
    REQUIRE(after.messages - before.messages == rounds * 2 * (n - 1));
    REQUIRE(after.acknowledges - before.acknowledges <= n * slow);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a broadcast takes the time of the longest path", "[bcast]") {
  constexpr std::uint32_t n = 16;
  for (const auto& [spec, hops] :
       std::vector<std::pair<tree_spec, int>>{{flat{}, 1}, {chain{}, 15}, {kary{2}, 4}, {knomial{2}, 4}}) {
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    flight<probe> f(c, g, {});
    REQUIRE(f.land().ok());
    INFO(to_string(spec));
    REQUIRE(f.took() == 2 * hops * 10us);
  }
}

TEST_CASE("a tree that a member does not know is that member's refusal", "[bcast][world]") {
  cluster c(any_kind_of_world(), 3);
  probe service;
  c.serve(service);
  REQUIRE(c.try_group<probe>(0, tree_spec(222, {1, 0, 0})).error() == errc::unknown_tree);
  REQUIRE(c.try_group<probe>(0, tree_spec(kary::kind, {0, 0, 0})).error() == errc::unknown_tree);
  REQUIRE(c.try_group<probe>(0, tree_spec(rack_tree::kind, {1, 0, 0})).error() == errc::unknown_tree);
  REQUIRE(c.engine(0).groups() == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("a service need not reply anything", "[bcast][world]") {
  cluster c(any_kind_of_world(), 9);
  silent quiet_one;
  c.serve(quiet_one);
  auto g = c.make_group<silent>(0, knomial{2});
  auto r = c.bcast(g, {});
  REQUIRE(r.ok());
  REQUIRE(r.has_value());
  REQUIRE(*quiet_one.executed == 9);
  c.serve(silent_status{});
  auto h = c.make_group<silent_status>(0, knomial{2});
  auto s = c.bcast(h, {4});
  REQUIRE_FALSE(s.ok());
  check_members(s.outcome(), {4}, member_state::failed, phase::execute, errc::not_found, 4);
  REQUIRE(s.outcome().merged().size() == 8);
  REQUIRE(c.bcast(h, {99}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("a group of one is its own root and sends nothing", "[bcast][world]") {
  cluster c(any_kind_of_world(), 1);
  probe service;
  c.serve(service);
  for (const tree_spec& spec : all_trees()) {
    auto g = c.make_group<probe>(0, spec);
    REQUIRE(c.bcast(g, {}).ok());
    REQUIRE(c.bcast(g, {}, {.deadline = 5ms}).ok());
    REQUIRE(c.run(c[0].destroy(g)).has_value());
  }
  service.log->failing[0] = error::user(3, "no");
  auto g = c.make_group<probe>(0, flat{});
  auto r = c.bcast(g, {});
  check_members(r.outcome(), {0}, member_state::failed, phase::execute, errc::hook_failed, 0);
  REQUIRE_FALSE(r.has_value());
  REQUIRE(c.engine(0).wire().statistics().frames_sent == 0);
}

TEST_CASE("a peer whose address is not known is not reached", "[bcast][world]") {
  cluster c(any_kind_of_world(), 3);
  probe service;
  c.serve(service);
  group_options options;
  options.tree = flat{};
  const std::vector<target> targets{{1, {}}, {2, {}}, {77, {}}};
  auto made = c.run(c[0].create_group<probe>(targets, options));
  REQUIRE(made.error() == errc::unreachable);
  REQUIRE(made.error().text() == "1 of 3 members did not join: delivery: no address is known for node 77");
  REQUIRE(c.engine(1).groups() == 0);
}

TEST_CASE("six hundred members of whom every second one fails are accounted exactly", "[bcast]") {
  constexpr std::uint32_t n = 600;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  for (std::uint32_t rank = 1; rank < n; rank += 2) {
    service.log->failing[rank] = error::user(static_cast<std::int32_t>(rank % 90), std::string(90, 'z'));
  }
  auto g = c.make_group<probe>(0, kary{8});
  service.log->clear();
  auto r = c.bcast(g, {});
  const outcome& o = r.outcome();
  REQUIRE(o.count(member_state::merged) == n / 2);
  REQUIRE(o.count(member_state::failed) == n / 2);
  std::uint64_t total = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    REQUIRE(o.state(rank) == (rank % 2 == 0 ? member_state::merged : member_state::failed));
    REQUIRE(service.log->executed[rank] == 1);
    if (rank % 2 == 0) total += rank + 1;
    if (rank % 2 == 1) REQUIRE(o.why(rank).where == phase::execute);
  }
  REQUIRE(r->total.value == total);
  REQUIRE(c.quiet());
}

TEST_CASE("random deaths, cuts, delays and failures never spoil an account", "[stress]") {
  const auto trees = all_trees();
  std::uint64_t merged = 0;
  std::uint64_t lost = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    random_generator random(seed);
    const auto below = [&](std::uint64_t bound) { return static_cast<std::uint32_t>(random.below(bound)); };
    const std::uint32_t n = 2 + below(24);
    const tree_spec spec = trees[below(trees.size())];
    const std::uint32_t root = below(n);
    virtual_cluster c(n, {}, nanoseconds(1000 + below(100000)));
    probe service;
    c.serve(service);
    probe_log& log = *service.log;
    auto g = c.make_group<probe>(root, spec);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      if (random.chance(1, 2)) log.work[rank] = nanoseconds(below(3000000));
      if (random.chance(1, 20)) log.failing[rank] = error::user(static_cast<std::int32_t>(rank), "random");
    }
    for (int round = 0; round < 4; ++round) {
      INFO("seed " << seed << " round " << round << " " << to_string(spec) << " n " << n << " root " << root);
      log.clear();
      bcast_options options;
      if (random.chance(1, 2)) {
        options.deadline = nanoseconds(50000000 + below(400000000));
      } else {
        options.processing_bound = nanoseconds(5000000 + below(100000000));
      }
      flight<probe> f(c, g, {seed}, options);
      std::set<std::uint32_t> dead;
      std::set<std::uint32_t> frozen;
      const std::uint32_t events = below(4);
      for (std::uint32_t e = 0; e < events; ++e) {
        c.ex.run_for(nanoseconds(below(2000000)));
        const std::uint32_t a = below(n);
        const std::uint32_t b = below(n);
        switch (below(3)) {
          case 0:
            c.kill(a);
            dead.insert(a);
            break;
          case 1:
            if (a != b) c.network.cut(a, b);
            break;
          default:
            c.network.freeze(a);
            frozen.insert(a);
            break;
        }
      }
      auto& r = f.land();
      check_account(r, log, n, seed);
      if (dead.empty() && frozen.empty() && log.failing.empty()) REQUIRE(r.ok());
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        if (r.outcome().state(rank) == member_state::failed) REQUIRE(log.failing.contains(rank));
      }
      merged += r.outcome().count(member_state::merged);
      lost += n - r.outcome().count(member_state::merged);
      for (const std::uint32_t i : frozen) c.network.thaw(i);
      for (const std::uint32_t i : dead) c.revive(i);
      c.ex.run_for(5s);
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        INFO("rank " << rank);
        REQUIRE(log.executed[rank] <= 1);
        REQUIRE(log.replied[rank] >= log.executed[rank]);
        REQUIRE(log.replied[rank] <= 1);
        // A member that is reported as not reached does not execute later either.
        if (r.outcome().state(rank) == member_state::not_reached) REQUIRE(log.executed[rank] == 0);
      }
      for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).operations() == 0);
    }
    REQUIRE(c.quiet());
  }
  REQUIRE(merged > 4000);
  REQUIRE(lost > 400);
}

TEST_CASE("the same seed gives the same run", "[stress]") {
  const auto run_once = [] {
    virtual_cluster c(12);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, knomial{2});
    std::vector<std::int64_t> times;
    for (std::uint32_t i = 0; i < 20; ++i) {
      service.log->work[i % 12] = nanoseconds(1000 * i);
      flight<probe> f(c, g, {i});
      if (i == 10) {
        c.ex.run_for(15us);
        c.kill(5);
      }
      f.land();
      times.push_back(f.took().count());
      if (i == 12) c.revive(5);
    }
    times.push_back(static_cast<std::int64_t>(c.network.bytes_carried()));
    times.push_back(c.ex.now().time_since_epoch().count());
    return times;
  };
  REQUIRE(run_once() == run_once());
}
