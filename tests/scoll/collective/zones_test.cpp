#include <algorithm>
#include <chrono>
#include <set>

#include "probe.hpp"
#include "scoll/collective/group_admin.hpp"
#include "tests/support/allocation_counter.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

/// Notes the children of each member and what it knows of their places.
struct scout {
  static constexpr service_id id{0x0611};
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
    sum<std::uint32_t> crossings;  ///< children in another zone than their parent
    sum<std::uint32_t> late;       ///< those that come after a child in the zone
  };
  const std::vector<target>* expected = nullptr;

  reply execute(const request&, bcast_context& c) const {
    reply mine{{1}, {}, {}};
    for (std::uint32_t rank = 0; rank < c.members().size(); ++rank) {
      const target& t = (*expected)[rank];
      REQUIRE(c.members().place(rank) == member_place{t.zone, t.host});
    }
    bool near = false;
    for (std::uint32_t child = 0; child < c.child_count(); ++child) {
      const bool crosses = c.members().place(c.child_rank(child)).zone != c.members().place(c.rank()).zone;
      mine.crossings.value += crosses;
      mine.late.value += crosses && near;
      near |= !crosses;
    }
    return mine;
  }
};

/// The nodes of a cluster, dealt in turn to zones and, within those, to two hosts.
std::vector<target> dealt(const cluster& c, std::uint32_t zones) {
  std::vector<target> all = c.targets();
  for (std::uint32_t i = 0; i < all.size(); ++i) {
    all[i].zone = static_cast<std::uint16_t>(1 + i % zones);
    all[i].host = static_cast<std::uint16_t>(1 + i / zones % 2);
  }
  return all;
}

template <class S>
group<S> make_zoned(cluster& c, std::uint32_t root, const std::vector<target>& targets, const zoned& tree,
                    populate how = populate::immediate) {
  group_options options;
  options.tree = tree;
  options.populate = how;
  return c.run(c[root].create_group<S>(targets, options)).value();
}

std::uint32_t zones_among(const std::vector<target>& targets, const rank_set& ranks) {
  std::set<std::uint16_t> zones;
  ranks.for_each([&](std::uint32_t rank) { zones.insert(targets[rank].zone); });
  return static_cast<std::uint32_t>(zones.size());
}

}  // namespace

TEST_CASE("a zoned broadcast enters each zone once, for every root and for parts of a group",
          "[zones][world]") {
  const world_kind kind = any_kind_of_world();
  constexpr std::uint32_t n = 13;
  cluster c(kind, n);
  const std::vector<target> targets = dealt(c, 4);
  c.serve(scout{&targets});
  for (const populate how : {populate::immediate, populate::delayed}) {
    const auto made = make_zoned<scout>(c, 3, targets, {2, 3}, how);
    REQUIRE(c.bcast(made, {}).ok());  // every member holds it
    for (std::uint32_t root = 0; root < n; ++root) {
      const auto g = c[root].find_group<scout>(made.id()).value();
      const rank_set some = rank_set{root, 2, 5, 6, 7, 11};
      for (const group<scout>& addressed : {g, g.only(some), g.except({(root + 1) % n}), g.only({root})}) {
        INFO("root " << root << " members " << addressed.addressed().size());
        const auto r = c.bcast(addressed, {});
        REQUIRE(r.ok());
        REQUIRE(r->members.value == addressed.addressed().size());
        REQUIRE(r->crossings.value == zones_among(targets, addressed.addressed()) - 1);
        REQUIRE(r->late.value == 0);
      }
    }
    REQUIRE(c.run(c[3].destroy(made)).has_value());
  }
  REQUIRE(c.quiet());
}

TEST_CASE("a settled group has the zones of the group it was made of", "[zones][world]") {
  cluster c(any_kind_of_world(), 9);
  const std::vector<target> targets = dealt(c, 3);
  c.serve(scout{&targets});
  const auto delayed = make_zoned<scout>(c, 0, targets, {3, 4}, populate::delayed);
  const auto settled = c.run(delayed.settle()).value();
  REQUIRE(settled.tree() == tree_spec(zoned{3, 4}));
  const auto r = c.bcast(settled, {});
  REQUIRE(r.ok());
  REQUIRE(r->crossings.value == 2);
}

TEST_CASE("members that know other zones than the root do not execute", "[zones][world]") {
  cluster c(any_kind_of_world(), 4);
  const std::vector<target> targets = dealt(c, 2);
  c.serve(probe{});
  std::vector<target> others = targets;
  others[2].host = 7;
  group_options options;
  options.tree = zoned{2, 2};
  std::vector<group<probe>> held;
  for (std::uint32_t i = 0; i < 4; ++i) {
    const auto members = membership::make(i == 3 ? others : targets).value();
    held.push_back(c[i].adopt_group<probe>(5, members, options).value());
  }
  const auto r = c.bcast(held[0], {});
  REQUIRE_FALSE(r.ok());
  REQUIRE(r.outcome().state(3) != member_state::merged);
  REQUIRE(r.outcome().state(1) == member_state::merged);
}

TEST_CASE("the death of a member of a zoned tree costs its subtree, and the account says so", "[zones]") {
  constexpr std::uint32_t n = 14;
  for (const zoned& spec : {zoned{2, 2}, zoned{8, 3}}) {
    virtual_cluster c(n);
    const std::vector<target> targets = dealt(c, 4);
    probe service;
    service.log->usual = 30us;
    c.serve(service);
    const auto g = make_zoned<probe>(c, 2, targets, spec);
    const tree_view tree(spec, targets, 2);
    for (std::uint32_t victim = 0; victim < n; ++victim) {
      if (victim == 2) continue;
      for (nanoseconds at{0}; at <= 264us; at += 24us) {
        INFO(to_string(spec) << " victim " << victim << " at " << at.count() << " ns");
        service.log->clear();
        flight<probe> f(c, g, {});
        c.pass(at);
        c.kill(victim);
        auto& r = f.land();
        check_account(r, *service.log, n);
        const auto below = tree.subtree(victim);
        for (std::uint32_t rank = 0; rank < n; ++rank) {
          if (!below.contains(rank)) REQUIRE(r.outcome().state(rank) == member_state::merged);
        }
        const member_state state = r.outcome().state(victim);
        if (state != member_state::merged) {
          check_members(r.outcome(), below, state, phase::delivery, errc::connection_lost,
                        tree.parent(victim));
        }
        c.pass(3s);
        c.revive(victim);
        service.log->clear();
        REQUIRE(c.bcast(g, {}).ok());
      }
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member of a zoned tree that fails is named, and those below it are merged", "[zones]") {
  constexpr std::uint32_t n = 23;
  virtual_cluster c(n);
  const std::vector<target> targets = dealt(c, 5);
  probe service;
  c.serve(service);
  const auto g = make_zoned<probe>(c, 4, targets, {2, 2});
  for (std::uint32_t failing = 0; failing < n; ++failing) {
    INFO("rank " << failing);
    service.log->clear();
    service.log->failing = {{failing, error(errc::io_error, "told to")}};
    const auto r = c.bcast(g, {});
    check_account(r, *service.log, n);
    REQUIRE(r.outcome().count(member_state::merged) == n - 1);
    check_members(r.outcome(), {failing}, member_state::failed, phase::execute, errc::io_error, failing);
  }
}

namespace {

/// Counts what 8 rounds of broadcasts by some roots allocate in a steady state, some of them to a part of the group.
std::size_t allocated_by(const tree_spec& tree, std::size_t combinations) {
  virtual_cluster c(12);
  const std::vector<target> targets = dealt(c, 3);
  c.serve(scout{&targets});
  group_options options;
  options.tree = tree;
  const auto made = c.run(c[0].create_group<scout>(targets, options)).value();
  std::vector<group<scout>> addressed;
  for (const std::uint32_t root : {0U, 1U, 5U}) {
    const auto g = c[root].find_group<scout>(made.id()).value();
    addressed.push_back(g);
    if (root != 5) addressed.push_back(g.except({11}));
  }
  const auto broadcast = [&] {
    for (int round = 0; round < 8; ++round) {
      for (std::size_t which = 0; which < combinations; ++which) {
        const auto r = c.bcast(addressed[which], {});
        REQUIRE(r.ok());
        REQUIRE(r->members.value == addressed[which].addressed().size());
        if (tree.kind == zoned::kind) REQUIRE(r->crossings.value == 2);
      }
    }
  };
  broadcast();
  broadcast();
  const std::size_t before = allocation_counter::on_this_thread() - c.network.queue_growths();
  broadcast();
  return allocation_counter::on_this_thread() - c.network.queue_growths() - before;
}

}  // namespace

TEST_CASE("a group keeps the trees of four roots or parts, and makes others anew", "[zones]") {
  const std::size_t kept = allocated_by(zoned{2, 2}, 4);
  const std::size_t rebuilt = allocated_by(zoned{2, 2}, 5);
  if (!allocation_counter::counting || !frame_pool::pooling) return;
  CHECK(allocated_by(zoned{2, 2}, 1) == allocated_by(knomial{2}, 1));
  CHECK(kept == allocated_by(knomial{2}, 4));
  CHECK(rebuilt > allocated_by(knomial{2}, 5));
}

TEST_CASE("targets are sorted by zone and host, and united with their places", "[zones]") {
  const std::vector<target> sorted =
      by_zone({{5, {}, 2, 1}, {1, {}, 1, 2}, {2, {}, 2, 1}, {9, {}}, {3, {}, 1, 1}});
  std::vector<node_id> nodes;
  for (const target& t : sorted) nodes.push_back(t.node);
  CHECK(nodes == std::vector<node_id>{9, 3, 1, 5, 2});
  const auto a = membership::make({{1, {}, 1, 1}, {2, {}}}).value();
  const auto b = membership::make({{1, {}, 4, 4}, {2, {}, 5, 6}, {3, {}, 7, 0}}).value();
  const auto both = membership::make(unite(*a, *b)).value();
  CHECK(both->place(0) == member_place{1, 1});
  CHECK(both->place(1) == member_place{5, 6});
  CHECK(both->place(2) == member_place{7, 0});
}

TEST_CASE("zones and hosts that do not fit the members are malformed", "[zones][hostile]") {
  const auto placed = membership::make({{1, {}, 1, 2}, {2, {}, 1, 3}, {3, {}, 300, 0}}).value();
  std::vector<std::byte> good(detail::membership_bytes(*placed));
  REQUIRE(detail::encode_membership(placed.get(), good).has_value());
  constexpr std::size_t plain = 7;  // the members alone are a membership, too
  for (std::size_t size = 0; size < good.size(); ++size) {
    INFO(size << " bytes");
    const auto read = detail::decode_membership(std::span(good).first(size));
    REQUIRE(read.has_value() == (size == plain));
    if (!read) REQUIRE(read.error() == errc::malformed);
  }
  const auto refused = [&](std::initializer_list<unsigned> behind) {
    std::vector<std::byte> bytes(good.begin(), good.begin() + plain);
    for (const unsigned byte : behind) bytes.push_back(static_cast<std::byte>(byte));
    const auto read = detail::decode_membership(bytes);
    return !read && read.error() == errc::malformed;
  };
  CHECK_FALSE(refused({3, 1, 3, 0}));
  CHECK(refused({3, 0, 3, 0}));                       // nothing is known
  CHECK(refused({4, 1, 3, 0}));                       // more members than there are
  CHECK(refused({2, 1, 0, 2, 1, 1, 3, 0}));           // an empty run
  CHECK(refused({3, 0x80, 0x80, 0x04, 3, 0}));        // zone 65536
  CHECK(refused({3, 1, 3, 0x80, 0x80, 0x04}));        // host 65536
  CHECK(refused({3, 1, 3, 0, 0}));                    // a byte too many
  CHECK(refused({0xff, 0xff, 0xff, 0xff, 0x0f, 1}));  // a run of 2^32 - 1
}
