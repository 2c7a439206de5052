#include <chrono>

#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

/// The allowed effects of a death on a broadcast: every member outside the victim's subtree is merged, and
/// that subtree is either merged or lost as a whole.
void check_death(const bcast_result<probe::reply>& r, const tree_view& tree, std::uint32_t n,
                 std::uint32_t victim) {
  const outcome& o = r.outcome();
  const std::set<std::uint32_t> below = tree.subtree(victim);
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    INFO("rank " << rank);
    if (!below.contains(rank)) REQUIRE(o.state(rank) == member_state::merged);
  }
  const member_state state = o.state(victim);
  if (state == member_state::merged) {
    REQUIRE(r.ok());
    return;
  }
  REQUIRE((state == member_state::unknown || state == member_state::not_reached));
  check_members(o, below, state, phase::delivery, errc::connection_lost, tree.parent(victim));
}

}  // namespace

TEST_CASE("a member that dies at any moment takes its subtree with it and nobody else", "[failure][world]") {
  const world_kind kind = any_kind_of_world({fault::part});
  constexpr std::uint32_t n = 11;
  constexpr nanoseconds grace = 1s;
  for (const tree_spec& spec : trees) {
    if (!is_virtual(kind) && spec != tree_spec(kary{2})) continue;  // each death takes a real second
    cluster c(kind, n);
    probe service;
    service.log->usual = 30us;
    bcast_options options;
    if (!is_virtual(kind)) options.processing_bound = 4 * grace;  // so that two clocks do not race
    c.serve(service);
    auto g = c.make_group<probe>(2, spec);
    const tree_view tree(spec, n, 2);
    for (std::uint32_t victim = 0; victim < n; ++victim) {
      if (victim == 2 || (!is_virtual(kind) && victim % 4 != 0)) continue;
      std::set<member_state> seen;
      for (nanoseconds at{0}; at <= 264us; at += is_virtual(kind) ? 8us : 200us) {
        INFO(to_string(spec) << " victim " << victim << " at " << at.count() << " ns");
        service.log->clear();
        flight<probe> f(c, g, {}, options);
        c.pass(at);
        c.kill(victim);
        auto& r = f.land();
        INFO(describe(r.outcome()));
        check_account(r, *service.log, n);
        check_death(r, tree, n, victim);
        REQUIRE(f.took() <= grace + (is_virtual(kind) ? 10ms : 1s));
        seen.insert(r.outcome().state(victim));
        if (is_virtual(kind)) c.pass(3s);
        c.revive(victim);
        if (!is_virtual(kind)) REQUIRE(c.quiet());
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          REQUIRE(c.engine(rank).operations() == 0);
          REQUIRE(service.log->replied[rank] == service.log->executed[rank]);
        }
        service.log->clear();
        auto again = c.bcast(g, {5});
        check_account(again, *service.log, n, 5);
        REQUIRE(again.ok());
      }
      if (!is_virtual(kind)) continue;
      REQUIRE(seen.contains(member_state::unknown));
      REQUIRE(seen.contains(member_state::merged));
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a member that is dead before the broadcast is provably not reached", "[failure]") {
  constexpr std::uint32_t n = 9;
  node_options unasked;
  unasked.group_lease = 1h;
  for (const tree_spec& spec : trees) {
    virtual_cluster c(n, unasked);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    const tree_view tree(spec, n, 0);
    for (std::uint32_t victim = 1; victim < n; ++victim) {
      INFO(to_string(spec) << " victim " << victim);
      service.log->clear();
      c.kill(victim);
      c.pass(1ms);  // both ends of the links have noticed
      auto r = c.bcast(g, {});
      check_account(r, *service.log, n);
      check_members(r.outcome(), tree.subtree(victim), member_state::not_reached, phase::delivery,
                    errc::connection_lost, tree.parent(victim));
      REQUIRE(r.outcome().count(member_state::not_reached) == tree.subtree(victim).size());
      REQUIRE(r.status().error() == errc::incomplete);
      c.revive(victim);
      c.pass(3s);
      REQUIRE(c.bcast(g, {}).ok());
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a root that is cut off still gets an exact answer", "[failure]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  service.log->usual = 30us;
  c.serve(service);
  auto g = c.make_group<probe>(3, kary{2});
  const tree_view tree(kary{2}, n, 3);
  for (nanoseconds at{0}; at <= 200us; at += 5us) {
    INFO("at " << at.count());
    service.log->clear();
    flight<probe> f(c, g, {});
    c.ex.run_for(at);
    c.kill(3);
    auto& r = f.land();
    check_account(r, *service.log, n);
    REQUIRE(r.outcome().state(3) == member_state::merged);
    for (const std::uint32_t child : tree.children(3)) {
      const member_state state = r.outcome().state(child);
      if (state == member_state::merged) continue;
      REQUIRE((state == member_state::unknown || state == member_state::not_reached));
      check_members(r.outcome(), tree.subtree(child), state, phase::delivery, errc::connection_lost, 3);
    }
    REQUIRE(f.took() <= 1s + 10ms);
    c.ex.run_for(3s);
    for (std::uint32_t rank = 0; rank < n; ++rank) {
      REQUIRE(service.log->replied[rank] == service.log->executed[rank]);
      REQUIRE(c.engine(rank).operations() == 0);
    }
    c.revive(3);
    REQUIRE(c.bcast(g, {}).ok());
  }
  REQUIRE(c.quiet());
}

TEST_CASE("a link that is cut and comes back within the grace is not noticed", "[failure]") {
  constexpr std::uint32_t n = 8;
  for (const tree_spec& spec : {tree_spec(kary{2}), tree_spec(knomial{2}), tree_spec(chain{})}) {
    virtual_cluster c(n);
    probe service;
    service.log->usual = 40us;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    const tree_view tree(spec, n, 0);
    for (std::uint32_t child = 1; child < n; ++child) {
      for (nanoseconds at{0}; at <= 300us; at += 15us) {
        INFO(to_string(spec) << " child " << child << " at " << at.count());
        service.log->clear();
        flight<probe> f(c, g, {});
        c.ex.run_for(at);
        c.network.cut(child, tree.parent(child));
        auto& r = f.land();
        check_account(r, *service.log, n);
        REQUIRE(r.ok());
        REQUIRE(f.took() < 100ms);
      }
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that reboots during a broadcast is named so", "[failure][world]") {
  constexpr std::uint32_t n = 7;
  cluster c(any_kind_of_world({fault::part}), n);
  probe service;
  service.log->usual = 100ms;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  const tree_view tree(kary{2}, n, 0);
  flight<probe> f(c, g, {});
  c.pass(10ms);
  c.kill(1);
  c.reboot(1, 2);
  c[1].serve(service).value();
  c.revive(1);
  auto& r = f.land();
  check_account(r, *service.log, n);
  check_members(r.outcome(), tree.subtree(1), member_state::unknown, phase::delivery, errc::peer_rebooted, 0);
  REQUIRE(f.took() < 500ms);

  // That node no longer knows the group.
  service.log->clear();
  auto after = c.bcast(g, {});
  check_account(after, *service.log, n);
  check_members(after.outcome(), {1}, member_state::failed, phase::admission, errc::unknown_group, 0);
  check_members(after.outcome(), {3, 4}, member_state::not_reached, phase::admission, errc::unknown_group, 0);
  REQUIRE(c.quiet());
}

TEST_CASE("a frozen member is unknown, and its late reply is ignored when it thaws", "[failure]") {
  constexpr std::uint32_t n = 7;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  const tree_view tree(kary{2}, n, 0);
  for (const std::uint32_t victim : {1U, 5U}) {
    service.log->clear();
    c.network.freeze(victim);
    flight<probe> f(c, g, {}, {.processing_bound = 200ms});
    auto& r = f.land();
    check_account(r, *service.log, n);
    check_members(r.outcome(), tree.subtree(victim), member_state::unknown, phase::delivery,
                  errc::deadline_exceeded, tree.parent(victim));
    REQUIRE(r.outcome().count(member_state::unknown) == tree.subtree(victim).size());
    REQUIRE(f.took() < 400ms);
    c.network.thaw(victim);
    c.ex.run_for(2s);
    for (std::uint32_t rank = 0; rank < n; ++rank) REQUIRE(service.log->executed[rank] <= 1);
    REQUIRE(c.quiet());
    service.log->clear();
    REQUIRE(c.bcast(g, {}).ok());
  }
}

TEST_CASE("a member without room for an operation is busy, and so is a root", "[failure][world]") {
  constexpr std::uint32_t n = 7;
  node_options few;
  few.max_operations = 1;
  cluster c(any_kind_of_world(), n, few);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, kary{2});
  auto other = c.make_group<probe>(1, chain{});
  // Node 1 is busy with a broadcast that node 2 does not let end.
  service.log->work[1] = 50ms;
  cluster& nodes = c;
  flight<probe> first(nodes, other, {});
  c.pass(10us);
  service.log->clear();
  service.log->work.clear();
  auto busy_root = c.bcast(other, {});
  REQUIRE(busy_root.status().error() == errc::busy);
  CHECK(busy_root.status().error().text().ends_with("on this node: node.max_operations is 1"));
  REQUIRE(busy_root.outcome().not_reached().size() == n);
  c.pass(10ms);
  service.log->clear();
  auto r = c.bcast(g, {});
  INFO(describe(r.outcome()));
  check_members(r.outcome(), {1}, member_state::failed, phase::admission, errc::busy, 0);
  check_members(r.outcome(), {3, 4}, member_state::not_reached, phase::admission, errc::busy, 0);
  CHECK(r.outcome().why(1).what.text().ends_with("on node 2: node.max_operations is 1"));
  check_account(r, *service.log, n);
  REQUIRE(r.outcome().count(member_state::merged) == 4);
  REQUIRE(first.land().ok());
  REQUIRE(c.bcast(g, {}).ok());
  REQUIRE(c.quiet());
}
