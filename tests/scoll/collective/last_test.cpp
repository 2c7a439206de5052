#include <chrono>
#include <vector>

#include "cluster.hpp"
#include "probe.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

// The last broadcast of a root: it waits for the earlier ones, later ones are refused, the creator's ends the
// group.
namespace {

bcast_options last() {
  bcast_options options;
  options.last = true;
  return options;
}

errc code_of(const bcast_result<probe::reply>& r) {
  return r.status() ? errc::ok : r.status().error().code();
}

}  // namespace

TEST_CASE("the last broadcast of the creator ends the group on every member", "[last][world]") {
  const world_kind kind = any_kind_of_world();
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(flat{})}) {
    for (const std::uint32_t n : {1U, 2U, 3U, 4U, 5U, 9U, 16U, 17U}) {
      INFO(to_string(spec) << ", " << n << " members");
      cluster c(kind, n);
      const probe p;
      c.serve(p);
      auto g = c.make_group<probe>(0, spec);
      const auto r = c.bcast(g, {}, last());
      REQUIRE(r.ok());
      REQUIRE(r->members.value == n);
      c.run_ready();
      for (std::uint32_t i = 0; i < n; ++i) REQUIRE(c.engine(i).groups() == 0);
      REQUIRE(code_of(c.bcast(g, {})) == errc::unknown_group);
      REQUIRE(c.engine(0).groups_ending() == 0);
    }
  }
}

TEST_CASE("the last broadcast leaves when the earlier ones have ended", "[last]") {
  virtual_cluster c(5);
  const probe p;
  p.log->usual = 30ms;
  c.serve(p);
  auto g = c.make_group<probe>(0, chain{});
  flight<probe> first(c, g, {});
  c.ex.run_for(10ms);
  flight<probe> second(c, g, {});
  flight<probe> ends(c, g, {}, last());
  flight<probe> late(c, g, {});
  REQUIRE(late.done());
  REQUIRE(code_of(late.land()) == errc::stale);
  c.ex.run_for(15ms);
  REQUIRE(p.log->executed[4] == 2);
  REQUIRE_FALSE(ends.done());
  REQUIRE(ends.land().ok());
  REQUIRE(first.land().ok());
  REQUIRE(second.land().ok());
  REQUIRE(ends.took() >= second.took() + 30ms);
  for (std::uint32_t i = 0; i < 5; ++i) {
    REQUIRE(p.log->executed[i] == 3);
    REQUIRE(c.engine(i).groups() == 0);
  }
}

TEST_CASE("the time of a last broadcast begins when it leaves, unless it has a deadline", "[last]") {
  virtual_cluster c(3);
  const probe p;
  p.log->usual = 900ms;  // nearly all of the processing bound
  c.serve(p);
  auto g = c.make_group<probe>(0, chain{});
  flight<probe> first(c, g, {});
  SECTION("without a deadline") {
    flight<probe> ends(c, g, {}, last());
    REQUIRE(ends.land().ok());
    REQUIRE(c.engine(2).groups() == 0);
  }
  SECTION("a deadline that passes while it waits sends nothing and changes nothing") {
    bcast_options options = last();
    options.deadline = 500ms;
    flight<probe> ends(c, g, {}, options);
    REQUIRE(code_of(ends.land()) == errc::deadline_exceeded);
    REQUIRE(ends.took() <= 500ms);
    REQUIRE(ends.land().outcome().executed().empty());
    REQUIRE(first.land().ok());
    REQUIRE(c.bcast(g, {}).ok());
    REQUIRE(c.bcast(g, {}, last()).ok());
    REQUIRE(c.engine(2).groups() == 0);
  }
  SECTION("a stop token ends the wait") {
    stop_source stop;
    bcast_options options = last();
    options.stop = stop.token();
    flight<probe> ends(c, g, {}, options);
    c.ex.run_for(100ms);
    REQUIRE_FALSE(ends.done());
    stop.request_stop();
    c.ex.run_now();
    REQUIRE(ends.done());
    REQUIRE(code_of(ends.land()) == errc::cancelled);
    REQUIRE(first.land().ok());
    REQUIRE(c.bcast(g, {}).ok());
  }
}

TEST_CASE("the last broadcast waits for an earlier one from before a wrong verdict on the creator",
          "[last]") {
  virtual_cluster c(5);
  const probe p;
  c.serve(p);
  group_options options;
  options.tree = flat{};
  options.populate = populate::delayed;
  const auto g = c.run(c[0].create_group<probe>(c.targets(), options)).value();
  REQUIRE(c.bcast(g, {}).ok());
  const auto theirs = c[2].find_group<probe>(g.id()).value();
  REQUIRE(c.bcast(theirs, {}).ok());
  p.log->clear();
  p.log->usual = 1s;
  flight<probe> first(c, c[1].find_group<probe>(g.id()).value(), {});
  c.pass(1ms);
  p.log->usual = 0ns;
  c.freeze(4);  // so that the end of the first one takes its time
  c[1].on_dead(1, 1);
  REQUIRE(c.engine(1).groups() == 0);
  c[1].on_alive(1, 1);
  REQUIRE(c.bcast(theirs.only({1, 2}), {}).ok());
  const auto back = c[1].find_group<probe>(g.id()).value();
  CHECK(back.state()->watermark() < back.state()->next_counter);  // the first one has not ended
  flight<probe> ends(c, back, {}, last());
  c.pass(100us);
  REQUIRE_FALSE(first.done());
  CHECK(p.log->executed[3] == 1);
  c.thaw(4);
  CHECK(code_of(first.land()) == errc::unknown_group);
  CHECK(ends.land().outcome().state(3) == member_state::merged);
  CHECK(ends.took() > first.took() - 1ms);
  CHECK(p.log->executed[3] == 2);
}

TEST_CASE("the last broadcast of another member ends only its own", "[last][world]") {
  cluster c(any_kind_of_world(), 4);
  c.serve(probe{});
  auto g = c.make_group<probe>(0, knomial{2});
  auto theirs = c[2].find_group<probe>(g.id()).value();
  REQUIRE(c.bcast(theirs, {}).ok());
  REQUIRE(c.bcast(theirs, {}, last()).ok());
  REQUIRE(code_of(c.bcast(theirs, {})) == errc::stale);
  REQUIRE(code_of(c.bcast(theirs, {}, last())) == errc::stale);
  REQUIRE(c.bcast(g, {}).ok());
  for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(c.engine(i).groups() == 1);
  REQUIRE(c.bcast(g, {}, last()).ok());
  for (std::uint32_t i = 0; i < 4; ++i) REQUIRE(c.engine(i).groups() == 0);
}

TEST_CASE("members that the last broadcast misses are told later", "[last]") {
  virtual_cluster c(5);
  c.serve(probe{});
  auto g = c.make_group<probe>(0, chain{});
  SECTION("those below a link that is broken") {
    c.network.cut(1, 2);
    c.network.refuse(1, 2);
    c.network.refuse(2, 1);
    bcast_options options = last();
    options.deadline = 200ms;
    const auto r = c.bcast(g, {}, options);
    REQUIRE(code_of(r) != errc::ok);
    REQUIRE(c.engine(0).groups() == 0);
    REQUIRE(c.engine(1).groups() == 0);
    REQUIRE(c.engine(2).groups() == 1);
    c.ex.run_for(5s);  // the creator tells them itself
    for (std::uint32_t i = 0; i < 5; ++i) REQUIRE(c.engine(i).groups() == 0);
    REQUIRE(c.engine(0).groups_ending() == 0);
  }
  SECTION("those that it is not for") {
    REQUIRE(c.bcast(g.only({0, 2, 4}), {}, last()).ok());
    c.ex.run_for(5s);
    for (std::uint32_t i = 0; i < 5; ++i) REQUIRE(c.engine(i).groups() == 0);
  }
  SECTION("destroy tells them at once") {
    REQUIRE(c.bcast(g.only({0, 2}), {}, last()).ok());
    const status told = c.run(c[0].destroy(g));
    INFO((told ? std::string() : told.error().text()));
    REQUIRE(told);
    for (std::uint32_t i = 0; i < 5; ++i) REQUIRE(c.engine(i).groups() == 0);
  }
}

TEST_CASE("a root that prepare stops may send a last broadcast again", "[last][world]") {
  cluster c(any_kind_of_world(), 3);
  const probe p;
  c.serve(p);
  auto g = c.make_group<probe>(0, chain{});
  c[0].on_dead(3, 1);
  bcast_options options = last();
  options.dead = dead_members::refuse;
  REQUIRE(code_of(c.bcast(g, {}, options)) == errc::peer_died);
  REQUIRE(c.engine(1).groups() == 1);
  options.dead = dead_members::try_others;
  const auto r = c.bcast(g, {}, options);
  REQUIRE(r.outcome().state(1) == member_state::merged);
  REQUIRE(c.engine(0).groups() == 0);
  REQUIRE(c.engine(1).groups() == 0);
}

TEST_CASE("an adopted group has no last broadcast", "[last][world]") {
  cluster c(any_kind_of_world(), 2);
  c.serve(probe{});
  const membership_ptr members = membership::make(c.targets()).value();
  std::vector<group<probe>> adopted;
  for (std::uint32_t i = 0; i < 2; ++i) adopted.push_back(c[i].adopt_group<probe>(7, members).value());
  REQUIRE(code_of(c.bcast(adopted[0], {}, last())) == errc::unsupported);
  REQUIRE(c.bcast(adopted[0], {}).ok());
}
