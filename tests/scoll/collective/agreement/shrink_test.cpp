#include <chrono>
#include <set>
#include <string>

#include "scoll/collective/collective_head.hpp"
#include "shrinking.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// A request from one member to another, and how it was refused.
struct knock : transport::exchange {
  knock() : exchange(&heard) {}
  static void heard(transport::exchange& self, transport::reply_event& event) noexcept {
    if (event.final && !event.outcome) static_cast<knock&>(self).refused = event.outcome.error();
  }
  error refused;
};

error knock_at(virtual_cluster& c, std::uint32_t from, std::uint32_t to, const group_id& id) {
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(probe::id);
  head.service_version = 1;
  head.group = id;
  head.operation = {from + 1, 1, 1, 0};
  knock k;
  transport::message& m = c[from].wire().acquire_message();
  m.set_head_bytes(wire::encode_to(m.head_space(), head).value());
  m.copy_payload({}, wire::checksum(std::span<const std::byte>()));
  c[from].wire().find(to + 1)->request(k, transport::traffic_class::collective, m, 1000).ignore();
  c.ex.run_for(10ms);
  if (k.pending()) k.cancel();
  return k.refused;
}

}  // namespace

TEST_CASE("all members of a shrunk group get the same one, and can use it at once", "[shrink]") {
  const std::uint32_t n = GENERATE(1U, 2U, 3U, 5U, 16U);
  const tree_spec tree = GENERATE(tree_spec(knomial{2}), tree_spec(flat{}), tree_spec(chain{}));
  shrinking s(n, tree);
  s.shrink_all();
  s.land_shrinks();
  const group_id made = s.check_shrunk(rank_set::all(n), {});
  CHECK(made != s.id);
  for (std::uint32_t r = 0; r < n; ++r) CHECK(s.reaches_all(r));
  CHECK(s.nodes.quiet());
}

TEST_CASE("a shrunk group is of those who are left, in their old order", "[shrink]") {
  const std::uint32_t n = GENERATE(3U, 5U, 16U);
  const std::uint32_t victim = GENERATE(0U, 1U, 2U);
  shrinking s(n, knomial{2}, (victim + 1) % n);
  s.kill(victim);
  for (std::uint32_t r = 0; r < n; ++r) {
    if (r != victim) s.shrink(r);
  }
  s.land_shrinks();
  s.check_shrunk(but(n, {victim}), {victim});
  for (std::uint32_t r = 0; r < n; ++r) {
    if (r != victim) CHECK(s.reaches_all(r));
  }
  CHECK(s.nodes[n - 1 == victim ? 0 : n - 1].find_group<probe>(s.id).has_value());
}

TEST_CASE("a group is shrunk once: who asks again gets the same group", "[shrink]") {
  shrinking s(5, knomial{2}, 1);
  s.shrink_all();
  s.land_shrinks();
  const group_id first = s.check_shrunk(rank_set::all(5), {});
  REQUIRE(s.nodes.quiet());
  const auto before = s.requests_sent();
  s.kill(3);
  for (const std::uint32_t r : {0U, 1U, 2U, 4U}) s.shrink(r);
  s.land_shrinks();
  for (const std::uint32_t r : {0U, 1U, 2U, 4U}) CHECK(s.made(r).value().id() == first);
  CHECK(s.requests_sent() == before);
}

TEST_CASE("a later death is shrunk from the new group", "[shrink]") {
  shrinking s(5, knomial{2}, 1);
  s.kill(0);
  for (std::uint32_t r = 1; r < 5; ++r) s.shrink(r);
  s.land_shrinks();
  const group_id first = s.check_shrunk({1, 2, 3, 4}, {0});
  s.kill(3);
  for (const std::uint32_t r : {1U, 2U, 4U}) s.shrink(r, s.made(r).value());
  s.forget(3);
  s.land_shrinks();
  const group_id second = s.check_shrunk({1, 2, 4}, {0, 3});
  CHECK(second != first);
  CHECK(s.reaches_all(4));
}

TEST_CASE("two callers during a death get one group, whenever the proposer dies", "[shrink]") {
  const std::uint32_t n = GENERATE(3U, 5U);
  const tree_spec tree = GENERATE(tree_spec(flat{}), tree_spec(knomial{2}));
  std::set<std::string> ends;
  bool over = false;
  for (std::uint32_t steps = 0; !over; ++steps) {
    INFO(n << " members, the proposer dies after " << steps << " steps");
    REQUIRE(steps < 2000);
    shrinking s(n, tree, 1);
    s.shrink_all({.deadline = 8s});
    for (std::uint32_t i = 0; i < steps && !over; ++i) {
      s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
      over = true;
      for (std::uint32_t r = 0; r < n; ++r) over = over && s.has_shrunk(r);
    }
    s.kill(0);
    s.land_shrinks();
    const bool within = s.made(1).value().members().size() == n;
    const rank_set failed = within ? rank_set{} : rank_set{0};
    const bool first_too = s.made(0).has_value();
    s.check_shrunk(first_too ? rank_set::all(n) : but(n, {0}), failed);
    ends.insert(within ? "with it" : "without it");
    if (!within) continue;
    // The group has a dead member: it is shrunk in its turn.
    for (std::uint32_t r = 1; r < n; ++r) s.shrink(r, s.made(r).value());
    s.land_shrinks();
    CHECK(s.made(1).value().members().size() == n - 1);
    CHECK(s.reaches_all(n - 1));
  }
  CHECK(ends.size() == 2);
}

TEST_CASE("the proposer and the next one die, and the others still get one group", "[shrink]") {
  const std::uint32_t n = 5;
  for (std::uint32_t steps = 0; steps < 150; steps += 3) {
    for (std::uint32_t more = 1; more < 60; more += 11) {
      INFO("after " << steps << " and " << more << " steps");
      shrinking s(n, flat{}, 4);
      s.shrink_all({.deadline = 8s});
      for (std::uint32_t i = 0; i < steps; ++i) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
      s.kill(0);
      for (std::uint32_t i = 0; i < more; ++i) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
      s.kill(1);
      s.land_shrinks();
      const std::uint32_t left = s.made(4).value().members().size();
      CHECK((left >= 3 && left <= n));
      for (const std::uint32_t r : {0U, 1U, 2U, 3U}) {
        INFO("rank " << r << ": " << s.text_at(r));
        if (r >= 2) REQUIRE(s.made(r).has_value());
        if (s.made(r)) CHECK(s.made(r).value().id() == s.made(4).value().id());
      }
    }
  }
}

TEST_CASE("a group that outlives its creator is shrunk after the creator's death", "[shrink]") {
  shrinking s(4, knomial{2}, 3);
  const group_options lasting{.tree = tree_spec(knomial{2}), .lifetime = lifetime::members};
  const auto old = s.nodes.run(s.nodes[0].create_group<probe>(s.nodes.targets(), lasting)).value();
  s.kill(0);
  for (const std::uint32_t r : {1U, 2U, 3U}) s.shrink(r, s.nodes[r].find_group<probe>(old.id()).value());
  s.land_shrinks();
  s.check_shrunk({1, 2, 3}, {0});
}

TEST_CASE("a delayed group is not shrunk before it is settled", "[shrink]") {
  shrinking s(3);
  const group_options delayed{.populate = populate::delayed};
  const auto g = s.nodes.run(s.nodes[0].create_group<probe>(s.nodes.targets(), delayed)).value();
  const error why = s.nodes.run(g.shrink()).error();
  CHECK(why == errc::invalid_argument);
  CHECK_THAT(text_of(why), Contains("settle()"));
}

TEST_CASE("a member that is wrongly held dead is excluded, and not a member wherever it knocks", "[shrink]") {
  const std::uint32_t wronged = GENERATE(0U, 2U, 4U);
  shrinking s(5, knomial{2}, 1);
  s.hold_dead(wronged);
  s.shrink_all({.deadline = 8s});
  s.land_shrinks();
  const group_id made = s.check_shrunk(but(5, {wronged}), {wronged});
  CHECK(s.made(wronged).error() == errc::excluded);
  CHECK_FALSE(s.nodes[wronged].find_group<probe>(made).has_value());
  for (std::uint32_t r = 0; r < 5; ++r) {
    if (r != wronged) s.nodes[r].on_alive(wronged + 1, 1);
  }
  CHECK(knock_at(s.nodes, wronged, 3, made) == errc::not_member);
}

TEST_CASE("half of the members do not shrink a group", "[shrink]") {
  shrinking s(4, knomial{2}, 1);
  s.kill(2);
  s.kill(3);
  for (const std::uint32_t r : {0U, 1U}) s.shrink(r);
  s.land_shrinks();
  for (const std::uint32_t r : {0U, 1U}) CHECK(s.made(r).error() == errc::no_quorum);
  CHECK(s.nodes.engine(0).groups() == 1);
}

TEST_CASE("survivors shrink a group even if one is left", "[shrink]") {
  shrinking s(4, knomial{2}, 2);
  for (const std::uint32_t r : {0U, 1U, 3U}) s.kill(r);
  s.shrink(2, {.quorum = agreement_quorum::survivors});
  s.land_shrinks();
  s.check_shrunk({2}, {0, 1, 3});
  CHECK(s.reaches_all(2));
}

TEST_CASE("a shrink without an outcome ends by its deadline, and a further call finds the group",
          "[shrink]") {
  shrinking s(3);
  for (const std::uint32_t r : {0U, 1U}) s.shrink(r, {.deadline = 300ms});
  const time_point begun = s.nodes.ex.now();
  s.land_shrinks();
  CHECK(s.nodes.ex.now() - begun == 300ms);
  CHECK(s.made(0).error() == errc::undecided);
  CHECK_THAT(text_of(s.made(0).error()), Contains("1 of 3 members had not called: node 3"));
  s.shrink_all();
  s.land_shrinks();
  s.check_shrunk(rank_set::all(3), {});
}

TEST_CASE("a shrink that cannot work says why", "[shrink]") {
  shrinking s(3);
  const auto g = s.at(1);
  const auto error_of = [&](task<result<group<probe>>> work) { return s.nodes.run(std::move(work)).error(); };
  CHECK(error_of(group<probe>().shrink()) == errc::invalid_argument);
  const auto part = g.only({1, 2});
  CHECK(error_of(part.shrink()) == errc::invalid_argument);
  CHECK(error_of(g.shrink({.deadline = 0s})) == errc::deadline_exceeded);
  stop_source stop;
  stop.request_stop();
  CHECK(error_of(g.shrink({.stop = stop.token()})) == errc::cancelled);
  const auto adopted = s.nodes[1].adopt_group<probe>(7, g.shared_members()).value();
  CHECK(error_of(adopted.shrink()) == errc::invalid_argument);
  CHECK(error_of(g.shrink({.deadline = 1ms})) == errc::undecided);
  const error other = error_of(g.shrink({.quorum = agreement_quorum::survivors}));
  CHECK(other == errc::invalid_argument);
  CHECK_THAT(text_of(other), Contains("the shrink has begun with another quorum"));
  s.nodes.run(s.nodes[0].destroy(s.at(0))).ignore();
  s.nodes.ex.run_for(10ms);
  CHECK(error_of(g.shrink()) == errc::unknown_group);
}

TEST_CASE("calls of shrink end when the group is destroyed or the node shuts down", "[shrink]") {
  shrinking s(3);
  s.shrink(1);
  s.shrink(2);
  s.nodes.ex.run_for(10ms);
  CHECK(s.nodes.stop(2).has_value());
  s.nodes.ex.run_now();
  CHECK(s.made(2).error() == errc::closed);
  s.nodes.run(s.nodes[0].destroy(s.at(0))).ignore();
  s.nodes.ex.run_for(10ms);
  CHECK(s.made(1).error() == errc::unknown_group);
}

TEST_CASE("a shrunk group outlives the member that proposed it", "[shrink]") {
  shrinking s(5, knomial{2}, 3);
  s.shrink_all();
  s.land_shrinks();
  const group_id made = s.check_shrunk(rank_set::all(5), {});
  CHECK(made.creator == 1);
  s.kill(0);
  s.nodes.ex.run_for(400s);  // leases end, and members ask each other
  for (std::uint32_t r = 1; r < 5; ++r) CHECK(s.nodes[r].find_group<probe>(made).has_value());
}

TEST_CASE("a shrunk group ends when a member destroys it, and a further shrink says so", "[shrink]") {
  shrinking s(3, knomial{2}, 1);
  s.shrink_all();
  s.land_shrinks();
  const group_id made = s.check_shrunk(rank_set::all(3), {});
  CHECK(s.nodes.run(s.nodes[2].destroy(s.made(2).value())).has_value());
  for (std::uint32_t r = 0; r < 3; ++r) CHECK_FALSE(s.nodes[r].find_group<probe>(made).has_value());
  s.shrink(0);
  s.land_shrinks();
  CHECK(s.made(0).error() == errc::unknown_group);
}

TEST_CASE("a member that has voted takes a request for the new group before it hears of the outcome",
          "[shrink]") {
  shrinking s(3, flat{}, 1);
  s.shrink_all();
  const auto received = [&] { return s.nodes.engine(2).statistics().received; };
  const auto before = received();
  while (received() < before + 2) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  s.nodes.network.path(0, 2).model.latency = 200ms;
  while (!s.has_shrunk(1)) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  CHECK_FALSE(s.has_shrunk(2));
  const auto g = s.made(1).value();
  CHECK(s.nodes.bcast(g.only({1, 2}), probe::request{}).ok());
  CHECK(s.has_shrunk(2));
  s.land_shrinks();
  s.check_shrunk(rank_set::all(3), {});
}

TEST_CASE("a member that has voted takes a revoke of the new group before it hears of the outcome",
          "[shrink]") {
  shrinking s(3, flat{}, 1);
  s.shrink_all();
  const auto received = [&] { return s.nodes.engine(2).statistics().received; };
  const auto before = received();
  while (received() < before + 2) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  s.nodes.network.path(0, 2).model.latency = 200ms;
  while (!s.has_shrunk(1)) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  CHECK_FALSE(s.has_shrunk(2));
  REQUIRE(s.nodes.run(s.made(1).value().revoke(7, "plan C")));
  s.nodes.ex.run_for(10ms);
  REQUIRE(s.has_shrunk(2));
  s.land_shrinks();
  s.check_shrunk(rank_set::all(3), {});
  CHECK(s.nodes.bcast(s.made(2).value(), probe::request{}).error() == errc::revoked);
  // It can therefore take part when this group is shrunk in its turn.
  s.nodes.network.path(0, 2).model.latency = 10us;
  for (std::uint32_t r = 0; r < 3; ++r) s.shrink(r, s.made(r).value());
  s.land_shrinks();
  s.check_shrunk(rank_set::all(3), {});
}

TEST_CASE("a new group that is revoked before a member has voted for it is held there, revoked", "[shrink]") {
  shrinking s(3, flat{}, 1);
  s.shrink(0);
  s.shrink(1);
  s.shrink(2, {.deadline = 30ms});
  const auto received = [&] { return s.nodes.engine(2).statistics().received; };
  const auto before = received();
  while (received() < before + 1) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  // The votes and the outcome take long to this member.
  s.nodes.network.path(0, 2).model.latency = 80s;
  s.land_shrinks();
  CHECK(s.made(2).error() == errc::undecided);
  const group<probe> made = s.made(1).value();
  REQUIRE(s.nodes.run(made.revoke(7, "plan C")));
  // Others ask it meanwhile whether the group still exists. It must not say that the group is gone.
  s.nodes.ex.run_for(70s);
  CHECK_FALSE(s.nodes[2].find_group<probe>(made.id()).has_value());
  for (const std::uint32_t r : {0U, 1U}) CHECK(s.nodes[r].find_group<probe>(made.id()).has_value());
  s.nodes.ex.run_for(20s);
  s.nodes.network.path(0, 2).model.latency = 10us;
  s.shrink(2);
  s.land_shrinks();
  REQUIRE(s.made(2).has_value());
  CHECK(s.made(2).value().id() == made.id());
  CHECK(s.nodes.bcast(s.made(2).value(), probe::request{}).error() == errc::revoked);
}

TEST_CASE("destroying the old group at once leaves nobody without the new one", "[shrink]") {
  const std::uint32_t destroyer = GENERATE(0U, 1U, 4U);
  shrinking s(5, chain{}, 1);
  s.shrink_all();
  while (!s.has_shrunk(destroyer)) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  CHECK(s.nodes.run(s.nodes[destroyer].destroy(s.at(destroyer))).has_value());
  s.land_shrinks();
  s.check_shrunk(rank_set::all(5), {});
  for (std::uint32_t r = 0; r < 5; ++r) CHECK_FALSE(s.nodes[r].find_group<probe>(s.id).has_value());
}

TEST_CASE("a proposer that has not heard that its group was decided does not end it", "[shrink]") {
  shrinking s(5, flat{}, 4);
  s.shrink(0, {.deadline = 100ms});
  for (std::uint32_t r = 1; r < 5; ++r) s.shrink(r, {.deadline = 8s});
  // It has a connection to the creator of the group already, so the others hear it last.
  const auto received = [&] { return s.nodes.engine(3).statistics().received; };
  const auto before = received();
  while (received() < before + 1) s.nodes.ex.world().step(s.nodes.ex.world().now() + 1s);
  // The promises are under way. The votes will take long.
  s.nodes.ex.run_for(5us);
  for (std::uint32_t r = 1; r < 5; ++r) s.nodes.network.path(r, 0).model.latency = 60s;
  s.nodes.ex.run_for(50us);
  s.hold_dead(0);
  s.land_shrinks();
  const group_id made = s.check_shrunk({1, 2, 3, 4}, {});
  REQUIRE(made.creator == 1);
  CHECK_FALSE(s.nodes[0].find_group<probe>(made).has_value());
  s.nodes.ex.run_for(60s);
  for (std::uint32_t r = 1; r < 5; ++r) {
    s.nodes.network.path(r, 0).model.latency = 10us;
    s.nodes[r].on_alive(1, 1);
  }
  s.nodes.ex.run_for(400s);
  for (std::uint32_t r = 1; r < 5; ++r) CHECK(s.nodes[r].find_group<probe>(made).has_value());
  s.shrink(0);
  s.land_shrinks();
  CHECK(s.made(0).value().id() == made);
}
