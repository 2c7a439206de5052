#include <set>
#include <vector>

#include "probe.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// Tells every node except `i` that `i` is dead.
void tell_dead(virtual_cluster& c, std::uint32_t i, std::uint64_t incarnation = 1) {
  for (std::uint32_t j = 0; j < c.size(); ++j) {
    if (j != i && c.alive(j)) c[j].on_dead(i + 1, incarnation);
  }
}
void tell_alive(virtual_cluster& c, std::uint32_t i, std::uint64_t incarnation = 1) {
  for (std::uint32_t j = 0; j < c.size(); ++j) {
    if (j != i && c.alive(j)) c[j].on_alive(i + 1, incarnation);
  }
}

std::set<std::uint32_t> everybody_but(std::uint32_t n, const std::set<std::uint32_t>& some) {
  std::set<std::uint32_t> rest;
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    if (!some.contains(rank)) rest.insert(rank);
  }
  return rest;
}

}  // namespace

TEST_CASE("a broadcast to a group with dead members names them and sends nothing") {
  const tree_spec tree = GENERATE(tree_spec(knomial{2}), tree_spec(flat{}), tree_spec(kary{2}));
  virtual_cluster c(16);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(3, tree);
  p.log->clear();
  tell_dead(c, 5);
  tell_dead(c, 11);
  const auto before = c.engine(3).wire().statistics().requests_sent;
  const auto r = c.bcast(g, {});
  CHECK(r.status().error() == errc::peer_died);
  CHECK_THAT(std::string(r.status().error().text()), Contains("nodes 6 12"));
  CHECK(c.engine(3).wire().statistics().requests_sent == before);
  CHECK(p.log->executed.empty());
  check_members(r.outcome(), {5, 11}, member_state::not_reached, phase::liveness, errc::peer_died, 3);
  check_members(r.outcome(), everybody_but(16, {5, 11}), member_state::not_reached, phase::liveness,
                errc::peer_died, 3);
  CHECK_THAT(std::string(r.outcome().why(11).what.text()), Contains("node 12 is dead"));

  tell_alive(c, 5);
  tell_alive(c, 11);
  CHECK(c.bcast(g, {}).ok());
}

TEST_CASE("a node says what becomes of broadcasts to dead members that do not choose") {
  node_options options;
  options.default_dead_members = dead_members::try_others;
  virtual_cluster c(4, options);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, flat{});
  tell_dead(c, 2);
  const auto others = c.bcast(g, {});
  CHECK(others.status().error() == errc::incomplete);
  check_members(others.outcome(), {2}, member_state::not_reached, phase::delivery, errc::peer_died, 0);
  CHECK(others.outcome().count(member_state::merged) == 3);
  const auto refused = c.bcast(g, {}, {.dead = dead_members::refuse});
  CHECK(refused.status().error() == errc::peer_died);
}

TEST_CASE("those who can be reached execute although members are dead, if the caller wants that") {
  virtual_cluster c(16);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  const tree_view tree(knomial{2}, 16, 0);
  p.log->clear();
  const std::uint32_t victim = GENERATE(1U, 4U, 8U, 15U);
  tell_dead(c, victim);
  bcast_options options;
  options.dead = dead_members::try_others;
  const time_point started = c.ex.now();
  const auto r = c.bcast(g, {}, options);
  CHECK(c.ex.now() - started < 1ms);  // the broadcast waits for no one
  check_account(r, *p.log, 16);
  check_members(r.outcome(), tree.subtree(victim), member_state::not_reached, phase::delivery,
                errc::peer_died, tree.parent(victim));
  CHECK(r.outcome().count(member_state::merged) == 16 - tree.subtree(victim).size());
}

TEST_CASE("a death ends the wait for a subtree at once, wherever in the tree it was") {
  virtual_cluster c(16);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  const tree_view tree(knomial{2}, 16, 0);
  const std::uint32_t victim = GENERATE(1U, 8U, 12U, 15U);
  p.log->usual = 5ms;
  p.log->work[victim] = 900ms;
  flight f(c, g, {});
  c.ex.run_for(10ms);
  REQUIRE_FALSE(f.done());
  tell_dead(c, victim);
  auto& r = f.land();
  CHECK(f.took() < 50ms);
  CHECK_FALSE(r.ok());
  CHECK(to_string(r.outcome().state(victim)) == to_string(member_state::unknown));
  CHECK(r.outcome().why(victim).what == errc::peer_died);
  CHECK(r.outcome().why(victim).reporter == tree.parent(victim));
  for (const std::uint32_t rank : everybody_but(16, tree.subtree(victim)))
    CHECK(r.outcome().state(rank) == member_state::merged);
}

TEST_CASE("a quick reboot ends what the old life owed and nothing of the new") {
  virtual_cluster c(4);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, flat{});
  p.log->work[2] = 900ms;
  flight f(c, g, {});
  c.ex.run_for(10ms);
  tell_alive(c, 2, 7);  // the news is ahead of the new life's first connection
  auto& r = f.land();
  CHECK(f.took() < 50ms);
  CHECK(r.outcome().why(2).what == errc::peer_rebooted);
  CHECK(to_string(r.outcome().state(2)) == to_string(member_state::unknown));

  c.reboot(2, 7);
  c[2].serve(p).value();
  p.log->work.clear();
  const auto again = c.make_group<probe>(0, flat{});
  CHECK(c.bcast(again, {}).ok());
  tell_dead(c, 2, 1);  // late news of the first life
  CHECK(c.bcast(again, {}, {.dead = dead_members::try_others}).ok());
}

TEST_CASE("late news of a death does not touch the life after it") {
  virtual_cluster c(4);
  probe p;
  c.serve(p);
  tell_alive(c, 2, 7);
  c.reboot(2, 7);
  c[2].serve(p).value();
  const auto g = c.make_group<probe>(0, flat{});
  tell_dead(c, 2, 1);
  tell_alive(c, 2, 7);
  CHECK(c.bcast(g, {}).ok());
}

TEST_CASE("what is asked of the dead ends at once, and of those back to life goes through") {
  virtual_cluster c(3);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, chain{});
  c.kill(2);
  tell_dead(c, 2);
  const time_point started = c.ex.now();
  const auto r = c.bcast(g, {}, {.dead = dead_members::try_others});
  CHECK(c.ex.now() - started < 1ms);
  CHECK(r.outcome().why(2).what == errc::peer_died);
  c.revive(2);
  tell_alive(c, 2);
  CHECK(c.bcast(g, {}).ok());
}

TEST_CASE("a group goes with its creator: at its death, and at its reboot those of earlier lives") {
  virtual_cluster c(6);
  probe p;
  c.serve(p);
  const auto first = c.make_group<probe>(1, knomial{2});
  const auto other = c.make_group<probe>(2, knomial{2});
  for (std::uint32_t i = 0; i < 6; ++i) REQUIRE(c.engine(i).groups() == 2);
  const bool reboots = GENERATE(false, true);
  if (reboots) {
    tell_alive(c, 1, 9);
  } else {
    tell_dead(c, 1);
  }
  for (std::uint32_t i = 0; i < 6; ++i) {
    INFO("node " << i + 1);
    CHECK(c.engine(i).groups() == (i == 1 ? 2 : 1));
  }
  CHECK_FALSE(c[0].find_group<probe>(first.id()));
  CHECK(c[0].find_group<probe>(other.id()));
  CHECK(c.engine(0).find_group(other.id()) != nullptr);
  if (reboots) {
    c.reboot(1, 9);
    c[1].serve(p).value();
    const auto anew = c.make_group<probe>(1, knomial{2});
    tell_alive(c, 1, 9);
    for (std::uint32_t i = 0; i < 6; ++i) CHECK(c.engine(i).find_group(anew.id()) != nullptr);
    CHECK(c.bcast(anew, {}).ok());
  }
}

TEST_CASE("a reboot that only a connection tells of ends the groups of the old life, too") {
  virtual_cluster c(3);
  probe p;
  c.serve(p);
  const auto old = c.make_group<probe>(1, flat{});
  c.reboot(1, 5);
  c[1].serve(p).value();
  const auto anew = c.try_group<probe>(1, flat{});
  REQUIRE(anew);
  CHECK(c.engine(0).groups() == 1);
  CHECK(c.engine(2).groups() == 1);
  CHECK(c.bcast(*anew, {}).ok());
}

TEST_CASE("members stop working for a root that has died") {
  virtual_cluster c(8);
  probe p;
  c.serve(p);
  const auto g = c.make_group<probe>(0, knomial{2});
  p.log->usual = 900ms;
  flight f(c, g, {});
  c.ex.run_for(10ms);
  REQUIRE(p.log->executed.size() == 8);
  tell_dead(c, 0);
  c.ex.run_for(10ms);
  CHECK(p.log->stopped.size() == 7);
  for (std::uint32_t i = 1; i < 8; ++i) CHECK(c.engine(i).groups() == 0);
  c.ex.run_for(100ms);
  for (std::uint32_t i = 1; i < 8; ++i) CHECK(c.engine(i).operations() == 0);
  f.land();
}

TEST_CASE("a group is not created with members that are dead") {
  virtual_cluster c(5);
  probe p;
  c.serve(p);
  tell_dead(c, 4);
  const auto g = c.try_group<probe>(0, flat{});
  REQUIRE_FALSE(g);
  CHECK(g.error() == errc::peer_died);
  for (std::uint32_t i = 0; i < 5; ++i) CHECK(c.engine(i).groups() == 0);
}
