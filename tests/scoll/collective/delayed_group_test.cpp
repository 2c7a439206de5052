#include <chrono>

#include "outsider.hpp"
#include "probe.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/subset.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

group_options delayed(const tree_spec& tree) {
  group_options options;
  options.tree = tree;
  options.populate = populate::delayed;
  return options;
}

group<probe> make_delayed(cluster& c, std::uint32_t root, const tree_spec& tree) {
  return c.run(c[root].create_group<probe>(c.targets(), delayed(tree))).value();
}

std::size_t groups_held(cluster& c) {
  std::size_t sum = 0;
  for (std::uint32_t i = 0; i < c.size(); ++i) sum += c.alive(i) ? c.engine(i).groups() : 0;
  return sum;
}

/// The payload bytes and requests that all nodes have sent.
struct sent {
  explicit sent(cluster& c) {
    for (std::uint32_t i = 0; i < c.size(); ++i) {
      const auto& s = c.engine(i).wire().statistics();
      bytes += s.bytes_sent;
      requests += s.requests_sent;
    }
  }
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
};

/// No member asks about its groups while a test counts.
node_options without_sweeps() {
  node_options options;
  options.group_lease = 1h;
  return options;
}

struct cost {
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  friend bool operator==(const cost&, const cost&) = default;
};

cost cost_of(cluster& c, const group<probe>& g) {
  c.pass(1s);  // acknowledgements
  const sent before(c);
  REQUIRE(c.bcast(g, {}).ok());
  c.pass(1s);
  const sent after(c);
  return {after.bytes - before.bytes, after.requests - before.requests};
}

}  // namespace

TEST_CASE("a delayed group sends nothing until its first broadcast", "[delayed][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 9;
  for (const tree_spec& tree : trees) {
    for (const std::uint32_t root : {0U, 4U, 8U}) {
      INFO(to_string(tree) << " root " << root);
      cluster c(kind, n);
      probe service;
      c.serve(service);
      const auto g = make_delayed(c, root, tree);
      REQUIRE(c.engine(root).wire().statistics().frames_sent == 0);
      REQUIRE(groups_held(c) == 1);
      auto r = c.bcast(g, {3});
      check_account(r, *service.log, n, 3);
      REQUIRE(r.ok());
      REQUIRE(groups_held(c) == n);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("nothing rides after a clean broadcast", "[delayed]") {
  constexpr std::uint32_t n = 12;
  for (const tree_spec& tree : trees) {
    INFO(to_string(tree));
    virtual_cluster c(n, without_sweeps());
    c.serve(probe{});
    const auto at_once = c.make_group<probe>(3, tree);
    REQUIRE(c.bcast(at_once, {}).ok());
    const cost usual = cost_of(c, at_once);
    REQUIRE(usual.requests == n - 1);
    const auto g = make_delayed(c, 3, tree);
    const cost first = cost_of(c, g);
    CHECK(first.requests == n - 1);
    CHECK(first.bytes > usual.bytes);
    CHECK(cost_of(c, g) == usual);
    CHECK(cost_of(c, g) == usual);
  }
}

TEST_CASE("any member can be root of a delayed group that it holds", "[delayed]") {
  constexpr std::uint32_t n = 8;
  for (const tree_spec& tree : trees) {
    virtual_cluster c(n, without_sweeps());
    probe service;
    c.serve(service);
    const auto g = make_delayed(c, 2, tree);
    // At first only two members hear of it. They tell the others when they are root.
    REQUIRE(c.bcast(g.only({2, 5}), {}).ok());
    REQUIRE(groups_held(c) == 2);
    for (std::uint32_t root : {5U, 0U, 7U, 1U, 3U}) {
      INFO(to_string(tree) << " root " << root);
      auto mine = c[root].find_group<probe>(g.id()).value();
      REQUIRE(mine.tree() == tree);
      service.log->clear();
      auto r = c.bcast(mine, {});
      check_account(r, *service.log, n);
      REQUIRE(r.ok());
    }
    for (std::uint32_t root = 0; root < n; ++root) {
      auto mine = c[root].find_group<probe>(g.id()).value();
      c.bcast(mine, {}).ignore();
      const cost usual = cost_of(c, mine);
      CHECK(cost_of(c, mine) == usual);
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that has rebooted is asked once more, with the creation", "[delayed][world]") {
  const world_kind kind = any_kind_of_world();
  const bool told = GENERATE(true, false);  // else the others learn of the new life when they connect
  constexpr std::uint32_t n = 7;
  for (const tree_spec& tree : trees) {
    for (std::uint32_t victim = 1; victim < n; ++victim) {
      INFO(to_string(tree) << " victim " << victim << (told ? "" : ", untold"));
      cluster c(kind, n);
      probe service;
      c.serve(service);
      const auto g = make_delayed(c, 0, tree);
      REQUIRE(c.bcast(g, {}).ok());
      c.reboot(victim, 2);
      c[victim].serve(service).value();
      for (std::uint32_t i = 0; i < n; ++i) {
        if (told && i != victim) c[i].on_alive(victim + 1, 2);
      }
      REQUIRE((told || c.knows_it_has_left(victim)));
      REQUIRE(c.engine(victim).groups() == 0);
      service.log->clear();
      auto r = c.bcast(g, {});
      check_account(r, *service.log, n);
      REQUIRE(r.ok());
      REQUIRE(c.engine(victim).groups() == 1);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a member of an immediate group that has rebooted stays out", "[delayed][world]") {
  cluster c(any_kind_of_world(), 3);
  probe service;
  c.serve(service);
  const auto g = c.make_group<probe>(0, flat{});
  c.reboot(2, 2);
  c[2].serve(service).value();
  c[0].on_alive(3, 2);
  const auto r = c.bcast(g, {});
  CHECK(r.outcome().why(2).what == errc::unknown_group);
  CHECK(c.engine(2).groups() == 0);
}

TEST_CASE("a member that refuses the first broadcast of a delayed group keeps nothing of it",
          "[delayed][world]") {
  constexpr std::uint32_t n = 5;
  cluster c(any_kind_of_world(), n);
  probe service;
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i != 3) c[i].serve(service).value();
  }
  const auto g = make_delayed(c, 0, flat{});
  const auto r = c.bcast(g, {});
  CHECK(r.outcome().why(3).what == errc::unknown_service);
  CHECK(c.engine(3).groups() == 0);
  c[3].serve(service).value();
  CHECK(c.bcast(g, {}).ok());  // it rides to this member again
  CHECK(c.engine(3).groups() == 1);
}

TEST_CASE("a delayed group that has ended is not brought back by its creation", "[delayed]") {
  virtual_cluster c(4);
  c.serve(probe{});
  const auto g = make_delayed(c, 0, chain{});
  REQUIRE(c.bcast(g.only({0, 1}), {}).ok());
  const auto mine = c[1].find_group<probe>(g.id()).value();
  REQUIRE(c.run(c[0].destroy(g)).has_value());
  REQUIRE(groups_held(c) == 0);
  CHECK(c.bcast(g, {}).error() == errc::unknown_group);
  CHECK(c.bcast(mine, {}).error() == errc::unknown_group);
  outsider late(c, 1, 4, 2);
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(probe::id);
  head.tree_kind = flat::kind;
  head.group = g.id();
  head.operation = {1, 2, 40, 0};
  head.flags = detail::collective_head::creation_rides;
  std::vector<std::byte> payload(64);
  payload.resize(detail::encode_creation(detail::creation_terms{}, g.members(), payload).value());
  head.creation_bytes = static_cast<std::uint16_t>(payload.size());
  payload.resize(payload.size() + 8);
  for (const node_id to : {2U, 3U, 4U}) CHECK(late.ask(to, head, payload).refused == errc::unknown_group);
  CHECK(groups_held(c) == 0);
}

TEST_CASE("a delayed group ends with its creator", "[delayed][world]") {
  cluster c(any_kind_of_world(), 4);
  c.serve(probe{});
  const auto g = make_delayed(c, 0, flat{});
  REQUIRE(c.bcast(g, {}).ok());
  for (const std::uint32_t i : {1U, 2U, 3U}) {
    c[i].on_dead(1, 1);
    CHECK(c.engine(i).groups() == 0);
  }
}

TEST_CASE("a delayed group that comes back after a wrong verdict about its creator repeats nothing",
          "[delayed]") {
  virtual_cluster c(4);
  const probe p;
  c.serve(p);
  const auto g = make_delayed(c, 0, flat{});
  REQUIRE(c.bcast(g, {}).ok());
  REQUIRE(c.bcast(c[1].find_group<probe>(g.id()).value(), {}).ok());
  c[1].on_dead(1, 1);
  REQUIRE(c.engine(1).groups() == 0);
  c[1].on_alive(1, 1);
  c.ex.run_for(2s);
  const auto back = c.bcast(g, {});
  INFO(describe(back.outcome()));
  REQUIRE(back.ok());
  REQUIRE(c.engine(1).groups() == 1);
  p.log->clear();
  const auto r = c.bcast(c[1].find_group<probe>(g.id()).value(), {});
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  for (std::uint32_t i = 0; i < 4; ++i) CHECK(p.log->executed[i] == 1);
}

TEST_CASE("a request that was seen before is refused each time its delayed group comes back",
          "[delayed][hostile]") {
  virtual_cluster c(4);
  const probe p;
  c.serve(p);
  const auto g = make_delayed(c, 0, flat{});
  REQUIRE(c.bcast(g, {}).ok());
  p.log->clear();
  outsider root(c, 4, 4, 2);
  detail::collective_head head;
  head.service = static_cast<std::uint32_t>(probe::id);
  head.tree_kind = flat::kind;
  head.root_rank = 3;
  head.group = g.id();
  head.operation = {4, 2, 40, 0};
  head.rtt_us = head.margin_us = 1000;
  head.processing_ns = 100'000'000;
  std::vector<std::byte> request(64);
  request.resize(wire::encode_to(request, probe::request{1}).value());
  REQUIRE_FALSE(root.ask(2, head, request).refused);
  REQUIRE(p.log->executed[1] == 1);
  // A wrong verdict about the creator ends the group at this member.
  c[1].on_dead(1, 1);
  c[1].on_alive(1, 1);
  REQUIRE(c.engine(1).groups() == 0);
  std::vector<std::byte> payload(64);
  payload.resize(detail::encode_creation(detail::creation_terms{}, g.members(), payload).value());
  head.flags = detail::collective_head::creation_rides;
  head.creation_bytes = static_cast<std::uint16_t>(payload.size());
  payload.insert(payload.end(), request.begin(), request.end());
  for (int times = 0; times < 3; ++times) {
    INFO(times);
    CHECK(root.ask(2, head, payload).refused == errc::already_exists);
    CHECK(c.engine(1).groups() == 0);
  }
  CHECK(p.log->executed[1] == 1);
}

TEST_CASE("a settled group has its members in messages if the delayed one had", "[delayed][world]") {
  const world_kind kind = any_kind_of_world();
  cluster c(kind, 3);
  c.serve(probe{});
  group_options options = delayed(flat{});
  options.membership = GENERATE(membership_form::automatic, membership_form::inline_only);
  const auto g = c.run(c[1].create_group<probe>(c.targets(), options)).value();
  const auto settled = c.run(g.settle()).value();
  CHECK(c.engine(1).find_group(settled.id())->inline_only ==
        (options.membership == membership_form::inline_only));
}

TEST_CASE("a settled group is another one, which all members hold", "[delayed][world]") {
  constexpr std::uint32_t n = 6;
  cluster c(any_kind_of_world(), n);
  c.serve(probe{});
  group_options options = delayed(knomial{2});
  options.name = "layout";
  const auto g = c.run(c[1].create_group<probe>(c.targets(), options)).value();
  REQUIRE(c.bcast(g.only({1, 4}), {}).ok());
  const auto there = c[4].find_group<probe>(g.id()).value();
  const auto settled = c.run(there.settle()).value();
  CHECK(settled.id() != g.id());
  CHECK(settled.id().creator == 5);
  CHECK(settled.id().digest == g.id().digest);
  CHECK(settled.tree() == tree_spec(knomial{2}));
  for (std::uint32_t i = 0; i < n; ++i) {
    CHECK(c[i].find_group<probe>(settled.id()).has_value());
    CHECK(c[i].snapshot().named_groups.back().name == "layout");
  }
  CHECK(c.bcast(settled, {}).ok());
  CHECK(c.bcast(g, {}).ok());  // the delayed one is still there
  CHECK(c.run(settled.settle()).value().id() == settled.id());
  REQUIRE(c.run(c[1].destroy(g)).has_value());
  CHECK(c.run(g.settle()).error().text() == "group \"layout\" has been destroyed");
  CHECK(c.run(group<probe>().settle()).error() == errc::invalid_argument);
  CHECK(c.bcast(settled, {}).ok());
}

TEST_CASE("a subset leaves room for the creation of a delayed group", "[delayed][world]") {
  cluster c(any_kind_of_world(), 3);
  c.serve(probe{});
  std::vector<target> targets;
  for (node_id id = 1; id <= 4000; ++id) targets.push_back({id, {}});
  const auto many = c.run(c[0].create_group<probe>(targets, delayed(flat{}))).value();
  // Two bytes for each separate rank.
  const auto every_other_below = [](std::uint32_t last) {
    rank_set ranks;
    for (std::uint32_t rank = 0; rank < last; rank += 2) ranks.append(rank, rank + 1);
    return ranks;
  };
  const auto fits = many.only(every_other_below(3540));
  const auto larger = many.only(every_other_below(3544));
  REQUIRE(fits.to().subset->encoded().size() == 3542);
  REQUIRE(larger.to().subset->encoded().size() == 3546);
  const auto sent = c.engine(0).wire().statistics().requests_sent;
  const error refused = c.bcast(larger, {}).error();
  CHECK(refused == errc::too_large);
  CHECK(refused.text() ==
        "the ranks of a subset take 3546 bytes: at most 3542 fit beside the creation of a delayed group");
  CHECK(c.engine(0).wire().statistics().requests_sent == sent);
  CHECK(c.bcast(fits, {}).error() != errc::too_large);
}

TEST_CASE("a creation that nobody announced, or that is not there, is malformed", "[delayed][hostile]") {
  virtual_cluster c(3);
  c.serve(probe{});
  const auto members = membership::make(c.targets()).value();
  outsider root(c, 1, 3, 2);
  detail::collective_head good;
  good.service = static_cast<std::uint32_t>(probe::id);
  good.tree_kind = flat::kind;
  good.group = {1, 2, 9, members->digest()};
  good.operation = {1, 2, 1, 0};
  good.flags = detail::collective_head::creation_rides;
  std::vector<std::byte> payload(64);
  payload.resize(detail::encode_creation(detail::creation_terms{}, *members, payload).value());
  good.creation_bytes = static_cast<std::uint16_t>(payload.size());
  payload.resize(payload.size() + 8);
  const auto refused = [&](detail::collective_head head, const std::vector<std::byte>& bytes) {
    const auto a = root.ask(2, head, bytes);
    REQUIRE(a.came);
    CHECK(c.engine(1).groups() == 0);
    return a.refused;
  };
  auto h = good;
  h.flags = 0;
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.creation_bytes = 0;
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.creation_bytes = 8000;
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  --h.creation_bytes;
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.flags |= detail::collective_head::creation_is_descriptor;
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::create);
  CHECK(refused(h, payload) == errc::malformed);
  h.kind = static_cast<std::uint8_t>(detail::collective_kind::forget);
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.group.digest[0] ^= std::byte{1};
  CHECK(refused(h, payload) == errc::malformed);
  h = good;
  h.group.creator = 0;
  CHECK(refused(h, payload) == errc::malformed);
  CHECK(refused(good, std::vector<std::byte>(9000)) == errc::too_large);
  // A creation by a descriptor that lies elsewhere, is empty, or is too large.
  for (const auto& [node, length, expected] :
       {std::tuple(node_id{3}, std::uint64_t{100}, errc::malformed),
        std::tuple(node_id{1}, std::uint64_t{0}, errc::too_large),
        std::tuple(node_id{1}, std::uint64_t{1} << 40, errc::too_large)}) {
    transport::region_descriptor d;
    d.node = node;
    d.incarnation = 2;
    d.length = length;
    std::vector<std::byte> by_descriptor(64);
    by_descriptor.resize(detail::encode_creation(detail::creation_terms{}, d, by_descriptor).value());
    h = good;
    h.creation_bytes = static_cast<std::uint16_t>(by_descriptor.size());
    by_descriptor.resize(by_descriptor.size() + 8);
    h.flags |= detail::collective_head::creation_is_descriptor;
    CHECK(refused(h, by_descriptor) == expected);
  }
  CHECK_FALSE(root.ask(2, good, payload).refused);
  CHECK(c.engine(1).groups() == 1);
}
