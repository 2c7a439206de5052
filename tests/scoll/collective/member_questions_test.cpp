#include <chrono>
#include <vector>

#include "mapped.hpp"
#include "outsider.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/limits.hpp"
#include "transport/memory/memory_service.hpp"
#include "transport/memory/region_table.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

result<membership_ptr> ask(virtual_cluster& c, std::uint32_t node, const group_id& group, node_id member,
                           service_id service = probe::id) {
  return c.run(c.engine(node).find_members(group, service, member));
}

std::vector<target> many_entities(const virtual_cluster& c) {
  auto targets = c.targets();
  for (std::uint64_t e = 0; e < 2000; ++e) targets[e % targets.size()].entities.push_back({e, ~e});
  return targets;
}

}  // namespace

TEST_CASE("a node that has only heard of a group asks a member who the others are", "[members]") {
  for (const bool large : {false, true}) {
    INFO("large " << large);
    virtual_cluster c(4);
    c.serve(probe{});
    group_options options;
    options.populate = populate::delayed;
    const auto targets = large ? many_entities(c) : c.targets();
    const auto g = c.run(c[0].create_group<probe>(targets, options)).value();
    REQUIRE(c.bcast(g.only({0, 1}), {}).ok());
    for (const node_id member : {1U, 2U}) {
      const auto found = ask(c, 3, g.id(), member);
      REQUIRE(found.has_value());
      CHECK((*found)->digest() == g.id().digest);
    }
    CHECK(c.engine(3).groups() == 0);
    CHECK(ask(c, 3, g.id(), 3).error() == errc::unknown_group);
    CHECK(ask(c, 3, g.id(), 77).error() == errc::unreachable);
    CHECK(c.engine(0).wire().memory().regions().size() == (large ? 1 : 0));
    c.ex.run_for(11s);
    CHECK(c.engine(0).wire().memory().regions().size() == 0);
    CHECK(c.quiet());
  }
}

TEST_CASE("members are told to members only, and nobody is asked twice at once", "[members]") {
  virtual_cluster c(4, {}, 1ms);
  c.serve(probe{});
  std::vector<target> three = c.targets();
  three.pop_back();
  const auto g = c.run(c[0].create_group<probe>(three, {.populate = populate::delayed})).value();
  CHECK(ask(c, 3, g.id(), 1).error() == errc::not_member);
  const auto before = c.engine(1).wire().statistics().requests_sent;
  scope s(c.ex);
  int answered = 0;
  const auto one = [&]() -> task<void> {
    const auto found = co_await c.engine(1).find_members(g.id(), probe::id, 1);
    answered += found.has_value();
  };
  for (int i = 0; i < 5; ++i) s.spawn(one());
  c.run([&]() -> task<void> { co_await s.join(); }());
  CHECK(answered == 5);
  CHECK(c.engine(1).wire().statistics().requests_sent == before + 1);
}

TEST_CASE("a member that does not answer is not waited for without an end", "[members]") {
  virtual_cluster c(3);
  c.serve(probe{});
  const auto g = c.run(c[0].create_group<probe>(c.targets(), {.populate = populate::delayed})).value();
  SECTION("it is gone") {
    c.kill(0);
    const time_point before = c.ex.now();
    CHECK_FALSE(ask(c, 1, g.id(), 1).has_value());
    CHECK(c.ex.now() - before <= 6s);
  }
  SECTION("this node goes") {
    c.kill(0);
    scope s(c.ex);
    std::optional<error> ended;
    const auto one = [&]() -> task<void> {
      const auto found = co_await c.engine(1).find_members(g.id(), probe::id, 1);
      ended = found.error();
    };
    s.spawn(one());
    c.ex.run_for(1ms);
    REQUIRE_FALSE(ended);
    const time_point before = c.ex.now();
    CHECK(c.run(c[1].shutdown(2s)).has_value());
    CHECK(c.ex.now() - before < 1s);
    c.run([&]() -> task<void> { co_await s.join(); }());
    CHECK(ended);
  }
}

TEST_CASE("the members of an out-of-band group are asked of its service", "[members]") {
  mapped_cluster m(3);
  const auto g = m.hold(0, 7);
  const auto found = ask(m.c, 1, g.id(), 1, mapped_probe::id);
  REQUIRE(found.has_value());
  CHECK((*found)->digest() == g.id().digest);
  CHECK(m.orders[1]->asked == 1);
  auto fewer = m.c.targets();
  fewer.pop_back();
  m.orders[1]->usual = membership::make(fewer).value();
  CHECK(ask(m.c, 1, g.id(), 1, mapped_probe::id).error() == errc::membership_changed);
}

TEST_CASE("a member offers the members of a bounded number of groups at once to nodes that ask",
          "[members]") {
  virtual_cluster c(2);
  c.serve(probe{});
  const auto targets = many_entities(c);
  std::vector<group<probe>> groups;
  for (std::size_t k = 0; k <= detail::max_offers_to_questions; ++k)
    groups.push_back(c.run(c[0].create_group<probe>(targets, {.populate = populate::delayed})).value());
  const auto small = c.run(c[0].create_group<probe>(c.targets(), {.populate = populate::delayed})).value();
  const auto& further = groups.back();
  const auto offered = [&] { return c.engine(0).wire().memory().regions().size(); };
  const auto answered = [&](const group<probe>& g) { return ask(c, 1, g.id(), 1).has_value(); };
  const time_point begun = c.ex.now();
  for (std::size_t k = 0; k < detail::max_offers_to_questions; ++k) {
    INFO(k);
    REQUIRE(answered(groups[k]));
    if (k == 0) c.ex.run_for(1s);
  }
  REQUIRE(c.ex.now() - begun < 2s);
  CHECK(offered() == detail::max_offers_to_questions);
  const auto refused = ask(c, 1, further.id(), 1);
  REQUIRE_FALSE(refused);
  CHECK(refused.error() == errc::busy);
  CHECK(refused.error().text() == "the members of 64 groups are offered here to nodes that have asked");
  CHECK(offered() == detail::max_offers_to_questions);
  // Neither a group that is offered already needs a place, nor members that fit in the answer.
  CHECK(answered(groups[1]));
  CHECK(answered(small));
  // The first offer ends before the others.
  c.ex.run_until(begun + 10s - 1ms);
  CHECK_FALSE(answered(further));
  c.ex.run_until(begun + 10s + 1ms);
  CHECK(offered() == detail::max_offers_to_questions - 1);
  CHECK(answered(further));
  CHECK_FALSE(answered(groups[0]));
  c.ex.run_for(10s + 1ms);
  CHECK(offered() == 0);
  CHECK(c.quiet());
}
