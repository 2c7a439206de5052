#include <chrono>

#include "mapped.hpp"
#include "outsider.hpp"
#include "scoll/collective/creation_section.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

std::vector<target> nodes(std::initializer_list<node_id> ids) {
  std::vector<target> targets;
  for (const node_id id : ids) targets.push_back({id, {}});
  return targets;
}

group_options within(const group<probe>& outer, populate when = populate::immediate) {
  group_options options;
  options.tree = flat{};
  options.within = outer.id();
  options.populate = when;
  return options;
}

}  // namespace

TEST_CASE("a group within another one ends with it on each member", "[within][world]") {
  const world_kind kind = any_kind_of_world();
  for (const populate when : {populate::immediate, populate::delayed}) {
    cluster c(kind, 5);
    probe service;
    c.serve(service);
    const auto outer = c.make_group<probe>(0, knomial{2});
    const auto there = c[1].find_group<probe>(outer.id()).value();
    const auto inner = c.run(c[1].create_group<probe>(nodes({2, 3, 4}), within(there, when))).value();
    const auto beside = c.make_group<probe>(1, flat{});
    REQUIRE(c.bcast(inner, {}).ok());
    REQUIRE(c.engine(2).groups() == 3);
    const auto innermost =
        c.run(c[2].create_group<probe>(nodes({3, 4}), within(c[2].find_group<probe>(inner.id()).value())));
    REQUIRE(innermost.has_value());
    REQUIRE(c.run(c[0].destroy(outer)).has_value());
    for (std::uint32_t i = 0; i < 5; ++i) {
      CHECK(c.engine(i).groups() == 1);
      CHECK(c[i].find_group<probe>(beside.id()).has_value());
    }
    CHECK(c.bcast(inner, {}).error() == errc::unknown_group);
    CHECK(c.bcast(*innermost, {}).error() == errc::unknown_group);
    CHECK(c.bcast(beside, {}).ok());
    CHECK(c.quiet());
  }
}

TEST_CASE("a group within another one may end first, and nothing of it stays there", "[within][world]") {
  cluster c(any_kind_of_world(), 3);
  c.serve(probe{});
  const auto outer = c.make_group<probe>(0, flat{});
  for (int i = 0; i < 3; ++i) {
    const auto inner = c.run(c[0].create_group<probe>(nodes({1, 2}), within(outer))).value();
    REQUIRE(c.engine(1).find_group(outer.id())->inner.size() == 1);
    REQUIRE(c.run(c[0].destroy(inner)).has_value());
    for (const std::uint32_t at : {0U, 1U}) CHECK(c.engine(at).find_group(outer.id())->inner.empty());
  }
  CHECK(c.bcast(outer, {}).ok());
}

TEST_CASE("a group is only created within one that all its members hold", "[within]") {
  mapped_cluster m(4);
  cluster& c = m.c;
  c.serve(probe{});
  const auto outer = c.run(c[0].create_group<probe>(nodes({1, 2, 3}), {.tree = flat{}})).value();
  CHECK(c.run(c[0].create_group<probe>(nodes({1, 2, 4}), within(outer))).error() == errc::not_member);
  const auto mapped = m.hold(0, 7);
  group_options in_mapped;
  in_mapped.within = mapped.id();
  CHECK(c.run(c[0].create_group<probe>(nodes({1, 2}), in_mapped)).error() == errc::unknown_group);
  // Node 3 comes back in another life, which does not hold the outer group.
  c.reboot(2, 2);
  c[2].serve(probe{}).value();
  for (const std::uint32_t i : {0U, 1U, 3U}) c[i].on_alive(3, 2);
  const auto refused = c.run(c[0].create_group<probe>(nodes({1, 2, 3}), within(outer)));
  CHECK(refused.error() == errc::unknown_group);
  CHECK(c.engine(1).groups() == 1);
  CHECK(c.engine(2).groups() == 0);
  REQUIRE(c.run(c[0].destroy(outer)).error() != errc::closed);
  CHECK(c.run(c[0].create_group<probe>(nodes({1, 2}), within(outer))).error() == errc::unknown_group);
}

TEST_CASE("no group is created within one that is revoked", "[within][revoke]") {
  virtual_cluster c(3);
  c.serve(probe{});
  const auto outer = c.run(c[0].create_group<probe>(nodes({1, 2, 3}), {.tree = flat{}})).value();
  // Node 3 hears of the revoke alone; the creator does not know of it when it creates another group.
  c.network.cut(0, 2);
  c.network.refuse(0, 2);
  c.network.refuse(2, 0);
  const auto there = c[2].find_group<probe>(outer.id()).value();
  REQUIRE(c.run(there.revoke(7, "over")).has_value());
  c.ex.run_now();
  CHECK(c.run(c[2].create_group<probe>(nodes({2, 3}), within(there))).error() == errc::revoked);
  c.ex.run_for(50ms);
  CHECK(c.run(c[0].create_group<probe>(nodes({1, 2}), within(outer))).error() == errc::revoked);
  for (std::uint32_t i = 0; i < 3; ++i) CHECK(c.engine(i).groups() == 1);
}

TEST_CASE("a creation within a group that lacks one of the members is malformed", "[within][hostile]") {
  virtual_cluster c(4);
  c.serve(probe{});
  const auto outer = c.run(c[1].create_group<probe>(nodes({2, 3}), {.tree = flat{}})).value();
  const auto members = membership::make(c.targets()).value();
  outsider root(c, 1, 4, 2);
  detail::creation_terms terms;
  terms.within = outer.id();
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(probe::id);
  head.tree_kind = flat::kind;
  head.group = {1, 2, 9, members->digest()};
  head.operation = {1, 2, 1, 0};
  head.flags = detail::collective_head::creation_rides;
  const auto refused = [&] {
    std::vector<std::byte> payload(200);
    payload.resize(detail::encode_creation(terms, *members, payload).value());
    head.creation_bytes = static_cast<std::uint16_t>(payload.size());
    payload.resize(payload.size() + 8);
    return root.ask(2, head, payload).refused;
  };
  CHECK(refused() == errc::malformed);
  terms.within->counter += 5;
  CHECK(refused() == errc::unknown_group);
  terms.within.reset();
  terms.ends_with = lifetime::members;
  CHECK(refused() == errc::malformed);  // no delayed group outlives its creator
  CHECK(c.engine(1).groups() == 1);
  terms.ends_with = lifetime::creator;
  CHECK_FALSE(refused());
}

TEST_CASE("no delayed group is made that outlives its creator", "[within][world]") {
  cluster c(any_kind_of_world(), 2);
  c.serve(probe{});
  group_options options;
  options.populate = populate::delayed;
  options.lifetime = lifetime::members;
  CHECK(c.run(c[0].create_group<probe>(c.targets(), options)).error() == errc::invalid_argument);
  options.lifetime = lifetime::creator;
  const auto g = c.run(c[0].create_group<probe>(c.targets(), options)).value();
  const auto lasting = c.run(g.settle({.lifetime = lifetime::members})).value();
  c[1].on_dead(1, 1);
  CHECK(c[1].find_group<probe>(lasting.id()).has_value());
}
