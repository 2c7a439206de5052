#include <memory>

#include "probe.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/revocation.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/ship/remote_function.hpp"
#include "scoll/ship/ship.hpp"

// Other ways in which the news of a revoke travels, and the other things that it ends.

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr remote_function<std::uint32_t, std::uint32_t> wait_a_while{"revoke_reach_test.wait"};

task<result<std::uint32_t>> sleep_as_asked(const std::uint32_t& ms, call_context& call) {
  const status slept = co_await sleep_for(std::chrono::milliseconds(ms), call.stop());
  if (!slept) co_return slept.error();
  co_return ms;
}

std::uint64_t notices(virtual_cluster& c) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < c.size(); ++i) sum += c.alive(i) ? c[i].wire().statistics().notices_sent : 0;
  return sum;
}

bool revoked_at(virtual_cluster& c, std::uint32_t i, const group_id& id) {
  const auto held = c.engine(i).find_group(id);
  return held != nullptr && held->revoked != nullptr;
}

}  // namespace

TEST_CASE("the error of a revoke can be read back", "[revoke]") {
  detail::notice_head said;
  said.by = 12;
  said.reason = 4'000'000'000;
  said.say("plan B: now");
  detail::notice_head heard;
  read_revoked(revoked_by(said), heard);
  CHECK(heard.by == 12);
  CHECK(heard.reason == 4'000'000'000);
  CHECK(heard.words() == "plan B: now");
  said.say("");
  detail::notice_head silent;
  read_revoked(revoked_by(said), silent);
  CHECK(silent.by == 12);
  CHECK(silent.words().empty());
  detail::notice_head other;
  other.by = 3;
  read_revoked({errc::revoked, "node 0 has revoked", 5}, other);
  read_revoked({errc::revoked, "something else", 5}, other);
  CHECK(other.by == 3);
  CHECK(other.reason == 0);
}

TEST_CASE("a refusal with `revoked` is a receipt, and goes on to the others", "[revoke]") {
  probe service;
  virtual_cluster c(5);
  c.serve(service);
  const auto g = c.make_group<probe>(0, flat{});
  c.bcast(g, {}).ignore();
  service.log->clear();
  // A member that knows, and whose notices have not come through.
  detail::notice_head notice;
  notice.by = 4;
  notice.reason = 77;
  notice.say("plan B");
  c.engine(1).find_group(g.id())->revoked = std::make_unique<const error>(revoked_by(notice));
  const auto refused = c.bcast(g, {});
  CHECK(refused.error() == errc::revoked);
  CHECK(refused.error().detail() == 77);
  CHECK(refused.error().text() == "node 4 has revoked the group, reason 77: plan B");
  c.ex.run_for(10ms);
  for (std::uint32_t i = 0; i < 5; ++i) {
    INFO(i);
    CHECK(revoked_at(c, i, g.id()));
    CHECK(c.bcast(c[i].find_group<probe>(g.id()).value(), {}).error().text() == refused.error().text());
  }
  CHECK(service.log->executed[1] == 0);
  CHECK(c.quiet());
}

TEST_CASE("an answer that a revoke has cut short says so to the parent", "[revoke]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  service.log->usual = 10s;
  const auto g = c.make_group<probe>(0, chain{});
  flight<probe> running(c, g, {}, {.processing_bound = 20s});
  c.ex.run_for(1ms);
  // Notices of the last member do not reach the root, whose only way to hear is the member between them.
  c.network.path(2, 0).model = testing::sim_link_model::ideal(5s);
  const auto told = c.run(c[2].find_group<probe>(g.id()).value().revoke(5));
  REQUIRE(told);
  auto& ended = running.land();
  CHECK(running.took() < 50ms);
  CHECK(ended.error() == errc::revoked);
  CHECK(ended.error().detail() == 5);
  c.ex.run_for(11s);
  CHECK(c.quiet());
}

TEST_CASE("a member that does not know the group asks who the members are, and tells them", "[revoke]") {
  probe service;
  virtual_cluster c(12);
  c.serve(service);
  const auto members = membership::make(c.targets()).value();
  // The members that hold the group are no neighbours of each other.
  const std::vector<std::uint32_t> holders{0, 3, 6, 9};
  for (const std::uint32_t i : holders) c[i].adopt_group<probe>(7, members).value();
  const auto id = out_of_band_group(probe::id, 7, members->digest());
  const auto mine = c[0].find_group<probe>(id).value();
  const auto told = c.run(mine.revoke(3));
  REQUIRE(told);
  c.ex.run_for(20ms);
  for (const std::uint32_t i : holders) {
    INFO(i);
    CHECK(revoked_at(c, i, id));
  }
  CHECK(c.engine(1).groups() == 0);
  c.ex.run_for(2s);
  const auto late = c[1].adopt_group<probe>(7, members);
  CHECK(late.has_value());  // it has passed the revoke on
  CHECK(c.quiet());
}

TEST_CASE("calls that are made through a group end with its revoke", "[revoke]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  const auto serving = c[1].serve(wait_a_while, sleep_as_asked);
  REQUIRE(serving);
  const auto g = c.make_group<probe>(0, flat{});
  const auto other = c.make_group<probe>(0, flat{});
  struct call {
    error failure;
    bool done = false;
    time_point at{};
  } inside, beside, through_other;
  scope calls(c.ex);
  const auto go = [&](call& into, ship_options options) -> task<> {
    const std::uint32_t ms = 200;
    auto r = co_await ship(c[0], 2, wait_a_while, ms, options);
    into.failure = r ? error() : r.error();
    into.done = true;
    into.at = c.ex.now();
  };
  ship_options in_group, in_other;
  in_group.within = g;
  in_other.within = other;
  calls.spawn(go(inside, in_group));
  calls.spawn(go(beside, {}));
  calls.spawn(go(through_other, in_other));
  c.ex.run_for(10ms);
  const time_point revoked = c.ex.now();
  REQUIRE(c.run(c[2].find_group<probe>(g.id()).value().revoke(9, "enough")));
  c.ex.run_for(1ms);
  REQUIRE(inside.done);
  CHECK(inside.at - revoked < 1ms);
  CHECK(inside.failure == errc::revoked);
  CHECK(inside.failure.detail() == 9);
  call late;
  calls.spawn(go(late, in_group));
  c.ex.run_now();
  CHECK(late.failure == errc::revoked);
  CHECK_FALSE(beside.done);
  c.run([](scope& s) -> task<> { co_await s.join(); }(calls));
  CHECK_FALSE(beside.failure);
  CHECK_FALSE(through_other.failure);
  CHECK(c.quiet());
}

TEST_CASE("calls that are made through a group end with the group, heard of its revoke or not", "[revoke]") {
  virtual_cluster c(3);
  c.serve(probe{});
  const auto serving = c[2].serve(wait_a_while, sleep_as_asked);
  REQUIRE(serving);
  const auto g = c.make_group<probe>(0, flat{});
  const auto theirs = c[1].find_group<probe>(g.id()).value();
  error failure;
  scope calls(c.ex);
  const auto go = [&]() -> task<> {
    ship_options options;
    options.within = theirs;
    const std::uint32_t ms = 3'600'000;
    auto r = co_await ship(c[1], 3, wait_a_while, ms, options);
    failure = r ? error() : r.error();
  };
  calls.spawn(go());
  c.ex.run_for(10ms);
  c.network.refuse(0, 1);
  c.network.refuse(1, 0);
  c.network.cut(0, 1);
  CHECK(c.run(c[0].destroy(g)).error() == errc::incomplete);
  CHECK_FALSE(failure);
  c.network.admit(0, 1);
  c.network.admit(1, 0);
  c.run([](scope& s) -> task<> { co_await s.join(); }(calls));
  CHECK(failure == errc::unknown_group);
  CHECK(c.quiet());
}

TEST_CASE("a revoked group can still agree", "[revoke]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  const auto g = c.make_group<probe>(0, flat{});
  REQUIRE(c.run(g.revoke(1)));
  c.ex.run_for(10ms);
  std::uint32_t agreed = 0;
  scope all(c.ex);
  for (std::uint32_t i = 0; i < 3; ++i) {
    all.spawn([](group<probe> mine, std::uint32_t& count) -> task<> {
      const all_of yes{true};
      const auto a = co_await mine.agree(1, yes, {.deadline = 5s});
      count += a.ok() && a->value;
    }(c[i].find_group<probe>(g.id()).value(), agreed));
  }
  c.run([](scope& s) -> task<> { co_await s.join(); }(all));
  CHECK(agreed == 3);
}

TEST_CASE("the groups within a group are revoked with it", "[revoke]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  const auto outer = c.make_group<probe>(0, flat{});
  const auto inner = c.make_group<probe>(0, chain{});
  const auto other = c.make_group<probe>(0, chain{});
  for (std::uint32_t i = 0; i < 3; ++i) {
    c.engine(i).find_group(outer.id())->inner.push_back(inner.id());
    c.engine(i).find_group(inner.id())->within = outer.id();
  }
  service.log->usual = 300ms;
  flight<probe> running(c, inner, {});
  flight<probe> beside(c, other, {});
  c.ex.run_for(10ms);
  REQUIRE(c.run(c[2].find_group<probe>(outer.id()).value().revoke(4)));
  CHECK(running.land().error() == errc::revoked);
  CHECK(running.took() < 50ms);
  CHECK(beside.land().ok());
  for (std::uint32_t i = 0; i < 3; ++i) {
    const auto refused = c.bcast(c[i].find_group<probe>(inner.id()).value(), {});
    CHECK(refused.error() == errc::revoked);
    CHECK(refused.error().detail() == 4);
  }
  CHECK(c.quiet());
}

TEST_CASE("the end of a group that outlives its creator floods", "[revoke]") {
  probe service;
  virtual_cluster c(9);
  c.serve(service);
  group_options options;
  options.lifetime = lifetime::members;
  options.tree = chain{};
  const auto g = c.run(c[0].create_group<probe>(c.targets(), options)).value();
  c.bcast(g, {}).ignore();
  for (std::uint32_t i = 0; i < 9; ++i) c.engine(i).find_group(g.id())->ends_with = lifetime::members;
  const auto at_three = c[3].find_group<probe>(g.id()).value();
  SECTION("from any member, whether the creator is there") {
    REQUIRE(c.run(c[3].destroy(at_three)));
    CHECK(notices(c) > 0);
    for (std::uint32_t i = 0; i < 9; ++i) CHECK(c.engine(i).groups() == 0);
  }
  SECTION("or not, and beyond members whose death nobody knows of") {
    c.kill(0);
    c.kill(2);
    std::optional<status> ended;
    scope work(c.ex);
    work.spawn([](virtual_cluster& on, group<probe> which, std::optional<status>& into) -> task<> {
      const status done = co_await on[3].destroy(which);
      into.emplace(done);
    }(c, at_three, ended));
    c.ex.run_for(5ms);
    for (const std::uint32_t i : {1U, 3U, 4U, 5U, 6U, 7U, 8U}) {
      INFO(i);
      CHECK(c.engine(i).groups() == 0);
    }
    c.run([](scope& s) -> task<> { co_await s.join(); }(work));
    REQUIRE(ended);
    CHECK(ended->error() == errc::incomplete);
    c.revive(0);
    c.revive(2);
    c.ex.run_for(60s);
    for (std::uint32_t i = 0; i < 9; ++i) CHECK(c.engine(i).groups() == 0);
  }
  CHECK(c.quiet());
}

TEST_CASE("a broadcast that was cancelled first does not say that its time was over", "[abort]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  service.log->stuck = {1};
  const auto g = c.make_group<probe>(0, chain{});
  stop_source stop;
  flight<probe> running(c, g, {}, {.deadline = 300ms, .stop = stop.token()});
  c.ex.run_for(10ms);
  stop.request_stop();
  auto& ended = running.land();
  CHECK(ended.status().error() == errc::cancelled);
  service.log->release.set();
  CHECK(c.quiet());
}

TEST_CASE("a member ends at once when the root is dead, and its hooks hear of it", "[liveness]") {
  probe service;
  virtual_cluster c(3);
  c.serve(service);
  service.log->stuck = {2};
  const auto g = c.make_group<probe>(0, chain{});
  flight<probe> running(c, g, {}, {.processing_bound = 20s});
  c.ex.run_for(10ms);
  c[1].on_dead(1, 1);
  c.ex.run_for(1ms);
  // Its child has not returned, and nobody awaits what it says.
  CHECK(c.engine(1).operations() == 0);
  service.log->release.set();
  running.land();
  CHECK(c.quiet());
}
