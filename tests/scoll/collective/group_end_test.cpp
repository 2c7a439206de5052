#include <chrono>
#include <optional>
#include <vector>

#include "probe.hpp"
#include "scoll/collective/limits.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;
using Catch::Matchers::Contains;

namespace {

/// A group of all nodes that has been used, so that no member's lease can end it.
group<probe> make_used(cluster& c, std::uint32_t root, const tree_spec& tree) {
  auto g = c.make_group<probe>(root, tree);
  REQUIRE(c.bcast(g, {}).ok());
  return g;
}

std::vector<group<probe>> make_used(cluster& c, std::uint32_t count) {
  std::vector<group<probe>> made;
  for (std::uint32_t i = 0; i < count; ++i) made.push_back(make_used(c, 0, flat{}));
  return made;
}

/// Calls of `destroy` on node 0 that run at the same time.
class endings {
 public:
  endings(cluster& c, const std::vector<group<probe>>& groups) : cluster_(c), scope_(c.get_executor()) {
    results.resize(groups.size());
    for (std::size_t i = 0; i < groups.size(); ++i) scope_.spawn(destroy(groups[i], results[i]));
    c.run_ready();
  }
  ~endings() { land(); }
  endings(const endings&) = delete;
  endings& operator=(const endings&) = delete;

  void land() { cluster_.run(join()); }

  std::vector<std::optional<status>> results;

 private:
  task<void> destroy(group<probe> g, std::optional<status>& into) {
    status ended = co_await cluster_[0].destroy(g);
    into = ended;
  }
  task<void> join() { co_await scope_.join(); }

  cluster& cluster_;
  scope scope_;
};

}  // namespace

TEST_CASE("a member that is cut off while its group is destroyed is told when it is back", "[group_end]") {
  constexpr std::uint32_t n = 7;
  for (const tree_spec& spec : {tree_spec(flat{}), tree_spec(kary{2}), tree_spec(chain{})}) {
    for (const nanoseconds away : {500ms, 3000ms, 60000ms}) {
      INFO(to_string(spec) << " away " << away.count());
      virtual_cluster c(n);
      probe service;
      c.serve(service);
      auto g = make_used(c, 0, spec);
      c.kill(1);
      const status destroyed = c.run(c[0].destroy(g));
      REQUIRE(destroyed.error() == errc::incomplete);
      CHECK_THAT(std::string(destroyed.error().text()), Contains("1 of 7 members were not told: node 2: "));
      REQUIRE(groups_left(c) == 1);
      REQUIRE(c.engine(1).groups() == 1);
      REQUIRE(c[0].snapshot().groups_ending == 1);
      REQUIRE(c[0].snapshot().groups == 0);
      const time_point until = c.ex.now() + away;
      while (c.ex.now() < until) {
        c.ex.run_for(50ms);
        REQUIRE(c.engine(0).operations() == 0);
      }
      c.revive(1);
      c.ex.run_for(12s);  // a pause and an attempt
      REQUIRE(groups_left(c) == 0);
      REQUIRE(c[0].snapshot().groups_ending == 0);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a member that stands still while its group is destroyed holds no group afterwards",
          "[group_end]") {
  virtual_cluster c(4);
  c.serve(probe{});
  auto g = make_used(c, 0, knomial{2});
  c.network.freeze(3);
  REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
  REQUIRE(c[0].snapshot().groups_ending == 1);
  c.ex.run_for(60s);
  c.network.thaw(3);
  c.ex.run_for(12s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c[0].snapshot().groups_ending == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("a creator that shuts down while it ends a group leaves the rest to the member that asked",
          "[group_end]") {
  virtual_cluster c(4);
  c.serve(probe{});
  const auto g = make_used(c, 0, flat{});
  const auto theirs = c[1].find_group<probe>(g.id()).value();
  c.network.freeze(3);
  std::optional<status> ended;
  scope work(c.ex);
  const auto go = [&]() -> task<> { ended = co_await c[1].destroy(theirs); };
  work.spawn(go());
  c.ex.run_for(100ms);
  c.stop(0).ignore();
  c.run([](scope& s) -> task<> { co_await s.join(); }(work));
  REQUIRE(ended->error() == errc::incomplete);
  CHECK_THAT(std::string(ended->error().text()), Contains("2 of 4 members were not told: nodes 1 4: "));
  CHECK(c[1].snapshot().groups_ending == 1);
  CHECK(c.engine(2).groups() == 0);
  c.network.thaw(3);
  c.ex.run_for(12s);
  CHECK(c.engine(3).groups() == 0);
}

TEST_CASE("a group is closed where it is destroyed from the call on", "[group_end][world]") {
  cluster c(any_kind_of_world({fault::part}), 3);
  probe service;
  c.serve(service);
  auto g = make_used(c, 0, flat{});
  auto theirs = c[1].find_group<probe>(g.id()).value();
  c.kill(2);
  endings all(c, {g});
  REQUIRE_FALSE(all.results[0].has_value());
  service.log->clear();
  CHECK(c.bcast(g, {}).status().error() == errc::unknown_group);
  CHECK(c[0].find_group<probe>(g.id()).error() == errc::unknown_group);
  CHECK(c.run(c[0].destroy(g)).error() == errc::unknown_group);  // it is being destroyed
  const auto to_the_ended = c.bcast(theirs.only({0, 1}), {});
  CHECK_FALSE(to_the_ended.ok());
  CHECK(service.log->executed[0] == 0);
  all.land();
  CHECK(all.results[0]->error() == errc::incomplete);
  CHECK(c.bcast(g, {}).status().error() == errc::unknown_group);
}

TEST_CASE("destroying a group again tells those that were missed, or says that all know", "[group_end]") {
  virtual_cluster c(4);
  c.serve(probe{});
  auto g = make_used(c, 0, flat{});
  c.kill(2);
  c.kill(3);
  REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
  const status again = c.run(c[0].destroy(g));
  REQUIRE(again.error() == errc::incomplete);
  CHECK_THAT(std::string(again.error().text()), Contains("2 of 4 members were not told: nodes 3 4: "));
  c.pass(30s);  // now the pauses are long
  c.revive(3);
  c.pass(10ms);
  REQUIRE(c.engine(3).groups() == 1);
  const status third = c.run(c[0].destroy(g));
  REQUIRE(third.error() == errc::incomplete);
  CHECK_THAT(std::string(third.error().text()), Contains("1 of 4 members were not told: node 3: "));
  REQUIRE(c.engine(3).groups() == 0);
  c.revive(2);
  REQUIRE(c.run(c[0].destroy(g)).has_value());
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c[0].snapshot().groups_ending == 0);
  REQUIRE(c.run(c[0].destroy(g)).has_value());
  REQUIRE(c.quiet());
}

TEST_CASE("a table full of broadcasts keeps no group from ending, on root and members", "[group_end]") {
  constexpr std::uint32_t n = 5;
  node_options few;
  few.max_operations = 1;
  virtual_cluster c(n, few);
  probe service;
  c.serve(service);
  auto g = make_used(c, 0, kary{2});
  auto ends = make_used(c, 0, kary{2});
  service.log->usual = 500ms;
  flight<probe> working(c, g, {});
  c.ex.run_for(10ms);
  for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).operations() == 1);
  REQUIRE(c.bcast(ends, {}).status().error() == errc::busy);
  const time_point began = c.ex.now();
  REQUIRE(c.run(c[0].destroy(ends)).has_value());
  CHECK(c.ex.now() - began < 10ms);
  REQUIRE(groups_left(c) == n);
  REQUIRE(working.land().ok());
  REQUIRE(c.quiet());
}

TEST_CASE("a group that ends while every place is taken is told of later", "[group_end]") {
  constexpr std::uint32_t beyond = 3;
  node_options few;
  few.max_operations = 1;
  virtual_cluster c(3, few);
  c.serve(probe{});
  const auto groups = make_used(c, 1 + detail::extra_group_operations + beyond);
  c.network.freeze(2);
  endings all(c, groups);
  // The first ones wait for the member that stands still. There is no place for the last.
  for (std::size_t i = 0; i < groups.size(); ++i)
    REQUIRE(all.results[i].has_value() == (groups.size() - i <= beyond));
  CHECK(all.results.back()->error() == errc::incomplete);
  CHECK_THAT(std::string(all.results.back()->error().text()),
             Contains("nodes 2 3: no broadcast more can run"));
  REQUIRE(c.engine(0).groups_ending() == beyond);
  c.ex.run_for(1s);
  CHECK(c.engine(1).groups() == 0);  // the others are told meanwhile
  c.network.thaw(2);
  all.land();
  c.ex.run_for(12s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c.engine(0).groups_ending() == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("a member that comes back as a new life ends the wait for it", "[group_end]") {
  for (const bool told : {false, true}) {
    INFO("told " << told);
    virtual_cluster c(3);
    c.serve(probe{});
    auto g = make_used(c, 0, flat{});
    c.kill(2);
    REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
    c.pass(30s);
    c.reboot(2, 2);
    c.revive(2);
    if (told) {
      c[0].on_alive(3, 2);
      c.pass(500ms);  // it is told at once, after a pause between two connection attempts
    } else {
      c.pass(12s);
    }
    REQUIRE(c.engine(0).groups_ending() == 0);
    REQUIRE(groups_left(c) == 0);
    REQUIRE(c.run(c[0].destroy(g)).has_value());
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that liveness calls dead is not waited for", "[group_end]") {
  virtual_cluster c(3);
  c.serve(probe{});
  auto g = make_used(c, 0, flat{});
  auto later = make_used(c, 0, flat{});
  c.kill(2);
  REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
  REQUIRE(c.engine(0).groups_ending() == 1);
  c[0].on_dead(3, 1);
  REQUIRE(c.engine(0).groups_ending() == 0);
  REQUIRE(c.run(c[0].destroy(g)).has_value());
  const status of_dead = c.run(c[0].destroy(later));
  CHECK(of_dead.error() == errc::incomplete);
  CHECK_THAT(std::string(of_dead.error().text()),
             Contains("1 of 3 members were not told: node 3: node 3 is dead"));
  REQUIRE(c.engine(0).groups_ending() == 0);
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  c.pass(60s);
  REQUIRE(c.engine(0).wire().statistics().requests_sent == sent);
  REQUIRE(c.quiet());

  // The verdict was wrong.
  c.revive(2);
  c[0].on_alive(3, 1);
  c.pass(1s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c.engine(0).groups_ending() == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("when too many ended groups wait, the members of a further one ask for themselves", "[group_end]") {
  constexpr std::uint32_t most = detail::max_ending_groups;
  constexpr std::uint32_t beyond = 50;
  node_options many;
  many.max_operations = 2 * most;
  many.link.queue_limit = 2 * most;
  many.group_lease = 60s;
  virtual_cluster c(2, many);
  c.serve(probe{});
  const auto groups = make_used(c, most + beyond);
  c.kill(1);
  endings all(c, groups);
  all.land();
  for (const auto& ended : all.results) REQUIRE(ended->error() == errc::incomplete);
  REQUIRE(c.engine(0).groups_ending() == most);
  REQUIRE(c.engine(0).groups() == 0);
  REQUIRE(c.engine(1).groups() == most + beyond);
  CHECK(c.run(c[0].destroy(groups.back())).error() == errc::unknown_group);
  CHECK(c.run(c[0].destroy(groups.front())).error() == errc::incomplete);

  c.revive(1);
  c.pass(12s);
  REQUIRE(c.engine(0).groups_ending() == 0);
  REQUIRE(c.engine(1).groups() == beyond);
  c.pass(54s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("ended groups that wait for members do not hold up a shutdown", "[group_end]") {
  for (const bool telling : {false, true}) {
    INFO("telling " << telling);
    virtual_cluster c(3);
    c.serve(probe{});
    const auto groups = make_used(c, 3);
    c.kill(2);
    for (const auto& g : groups) REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
    REQUIRE(c.engine(0).groups_ending() == 3);
    while ((c.engine(0).wire().find(3)->waiting() != 0) != telling) c.ex.run_for(1ms);
    const time_point began = c.ex.now();
    REQUIRE(c.stop(0).has_value());
    CHECK(c.ex.now() - began < 100ms);
  }
}

TEST_CASE("a shutdown ends a destroy that waits", "[group_end]") {
  virtual_cluster c(3);
  c.serve(probe{});
  auto g = make_used(c, 0, flat{});
  c.network.freeze(2);
  endings all(c, {g});
  c.ex.run_for(1s);
  c.stop(0, 2s).ignore();
  all.land();
  CHECK(all.results[0]->error() == errc::closed);
}

TEST_CASE("a node whose gossip only listens tells nobody of the end of a group", "[group_end]") {
  node_options unasked;
  unasked.group_lease = 1h;
  virtual_cluster c(3, unasked);
  c.serve(probe{});
  auto g = make_used(c, 0, flat{});
  c.kill(2);
  REQUIRE(c.run(c[0].destroy(g)).error() == errc::incomplete);
  c.engine(0).holding().hold();
  c.pass(5s);
  c.revive(2);
  c.pass(30s);
  REQUIRE(c.engine(2).groups() == 1);
  c.engine(0).holding().release();
  c.pass(2s);
  REQUIRE(groups_left(c) == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("any member can destroy a group, and several at once", "[group_end]") {
  constexpr std::uint32_t n = 6;
  virtual_cluster c(n);
  c.serve(probe{});
  for (const tree_spec& spec : {tree_spec(flat{}), tree_spec(kary{2}), tree_spec(chain{})}) {
    INFO(to_string(spec));
    auto g = make_used(c, 0, spec);
    std::vector<std::optional<status>> ended(n);
    scope s(c.ex);
    const auto destroy = [&](std::uint32_t i) -> task<void> {
      const auto held = c[i].find_group<probe>(g.id()).value();
      status done = co_await c[i].destroy(held);
      ended[i] = done;
    };
    for (std::uint32_t i = 0; i < n; ++i) s.spawn(destroy(i));
    c.run([&]() -> task<void> { co_await s.join(); }());
    for (std::uint32_t i = 0; i < n; ++i) {
      INFO("node " << i + 1 << ": " << ended[i]->error().text());
      CHECK(ended[i]->has_value());
      CHECK(c.engine(i).groups_ending() == 0);
    }
    CHECK(groups_left(c) == 0);
  }
  REQUIRE(c.quiet());
}

TEST_CASE("an adopted group ends on the node that destroys it, and may be adopted there again",
          "[group_end]") {
  virtual_cluster c(3);
  probe service;
  c.serve(service);
  const membership_ptr members = membership::make(c.targets()).value();
  std::vector<group<probe>> held;
  for (std::uint32_t i = 0; i < 3; ++i) held.push_back(c[i].adopt_group<probe>(5, members).value());
  REQUIRE(c.bcast(held[0], {}).ok());
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  REQUIRE(c.run(c[0].destroy(held[0])).has_value());
  REQUIRE(groups_left(c) == 2);
  REQUIRE(c.engine(0).wire().statistics().requests_sent == sent);
  REQUIRE(c.bcast(held[0], {}).status().error() == errc::unknown_group);
  const auto without = c.bcast(held[1].only({0, 1}), {});
  REQUIRE(without.outcome().why(0).what == errc::unknown_group);
  held[0] = c[0].adopt_group<probe>(5, members).value();
  service.log->clear();
  REQUIRE(c.bcast(held[0], {}).ok());  // its operations go on where they were
  REQUIRE(c.bcast(held[1], {}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("a member that has not met the creator's present life ends its group all the same", "[group_end]") {
  virtual_cluster c(3);
  probe service;
  c.serve(service);
  // Node 1 knows node 2 from its first life. The group of the second life reaches node 1 through node 3.
  make_used(c, 0, flat{});
  c.kill(1);
  c.reboot(1, 2);
  c.revive(1);
  c[1].serve(service).value();
  const auto g = c.make_group<probe>(1, chain{});
  const auto mine = c[0].find_group<probe>(g.id()).value();
  c.run(c[0].destroy(mine)).ignore();
  c.pass(61s);  // two leases
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(c.engine(i).find_group(g.id()) == nullptr);
}
