#include <chrono>
#include <optional>
#include <set>

#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

constexpr nanoseconds one_way = 10us;

/// The numbers of members around powers of two.
constexpr std::uint32_t sizes[] = {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
constexpr tree_spec deep_trees[] = {chain{}, knomial{2}, kary{2}, knomial{4}};

std::uint32_t deepest(const tree_view& tree, std::uint32_t n) {
  std::uint32_t depth = 0;
  for (std::uint32_t rank = 0; rank < n; ++rank) depth = std::max(depth, tree.depth(rank));
  return depth;
}

/// What holds of every broadcast that failed because of `victim`: that one is the status, and the others were
/// stopped.
void check_failed(const bcast_result<probe::reply>& r, probe& service, std::uint32_t n, std::uint32_t victim,
                  const error& why) {
  INFO(describe(r.outcome()));
  check_account(r, *service.log, n);
  REQUIRE(r.status().error() == why);
  REQUIRE(r.outcome().why(victim).what == why);
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    if (rank != victim) REQUIRE(r.outcome().why(rank).what == errc::cancelled);
  }
}

}  // namespace

TEST_CASE("the first failure ends a broadcast in one way up, and the way of the stop down and up again",
          "[fail_fast]") {
  const error broken(errc::io_error, "the disk is broken");
  for (const tree_spec& spec : deep_trees) {
    for (const std::uint32_t n : sizes) {
      virtual_cluster c(n);
      probe service;
      c.serve(service);
      const std::uint32_t root = n / 2;
      auto g = c.make_group<probe>(root, spec);
      const tree_view tree(spec, n, root);
      service.log->usual = 10s;
      for (std::uint32_t victim = 0; victim < n; victim += (n > 9 ? 3 : 1)) {
        INFO(to_string(spec) << ", " << n << " members, root " << root << ", victim " << victim);
        service.log->clear();
        service.log->work = {{victim, 0ns}};
        service.log->failing = {{victim, broken}};
        flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = fail_fast});
        auto& r = f.land();
        check_failed(r, service, n, victim, broken);
        CHECK(f.took() <= (2 * tree.depth(victim) + 2 * deepest(tree, n)) * one_way);
        REQUIRE(r.outcome().count(member_state::unknown) == 0);
      }
      REQUIRE(c.quiet());
      service.log->failing.clear();
      service.log->usual = 0ns;
      service.log->work.clear();
      service.log->clear();
      auto whole = c.bcast(g, {}, {.on_failure = fail_fast});
      REQUIRE(whole.ok());
      check_account(whole, *service.log, n);
    }
  }
}

TEST_CASE("with `degrade` the others go on, however long they take", "[fail_fast]") {
  virtual_cluster c(9);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->usual = 2s;
  service.log->work = {{5, 0ns}};
  service.log->failing = {{5, error(errc::io_error, "broken")}};
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = degrade});
  auto& r = f.land();
  CHECK(f.took() >= 2s);
  CHECK(r.status().error() == errc::incomplete);
  CHECK(r.outcome().merged().size() == 8);
  for (std::uint32_t i = 0; i < 9; ++i) CHECK(c.engine(i).statistics().reply_parts == 0);
}

TEST_CASE("the failure of a leaf far below ends a broadcast over every transport", "[fail_fast][world]") {
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2})}) {
    cluster c(any_kind_of_world(), 8);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    service.log->usual = 10s;
    service.log->work = {{7, 0ns}};
    const error broken = error::user(17, "no space");
    service.log->failing = {{7, broken}};
    flight<probe> f(c, g, {}, {.deadline = 30s, .on_failure = fail_fast});
    auto& r = f.land();
    check_failed(r, service, 8, 7, broken);
    CHECK(f.took() < 3s);
    REQUIRE(c.quiet());
    CHECK(service.log->stopped.size() == service.log->executed.size() - 1);
  }
}

TEST_CASE("a member that is lost ends a broadcast when the loss is noticed", "[fail_fast][world]") {
  const world_kind kind = any_kind_of_world({fault::part});
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{2})}) {
    const tree_view tree(spec, n, 0);
    for (const std::uint32_t victim : {1U, 4U, 8U}) {
      INFO(to_string(spec) << ", victim " << victim);
      cluster c(kind, n);
      probe service;
      service.log->usual = 8s;
      c.serve(service);
      auto g = c.make_group<probe>(0, spec);
      flight<probe> f(c, g, {}, {.deadline = 30s, .on_failure = fail_fast});
      c.pass(20ms);
      c.kill(victim);
      auto& r = f.land();
      INFO(describe(r.outcome()));
      check_account(r, *service.log, n);
      CHECK(r.status().error() == errc::connection_lost);
      check_members(r.outcome(), tree.subtree(victim), member_state::unknown, phase::delivery,
                    errc::connection_lost, tree.parent(victim));
      CHECK(f.took() >= 1s);  // the grace
      CHECK(f.took() < 2500ms);
      c.revive(victim);
      REQUIRE(c.quiet());
      if (!is_virtual(kind)) return;  // each death takes a real second
    }
  }
}

TEST_CASE("a member that is known to be dead fails a broadcast that tries the others at once",
          "[fail_fast]") {
  virtual_cluster c(8);
  probe service;
  service.log->usual = 1s;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  REQUIRE(c.bcast(g, {}).ok());
  service.log->clear();
  for (std::uint32_t i = 0; i < 8; ++i) {
    if (i != 6) c.engine(i).on_dead(7, 1);
  }
  flight<probe> f(c, g, {}, {.dead = dead_members::try_others, .on_failure = fail_fast});
  auto& r = f.land();
  CHECK(r.status().error() == errc::peer_died);
  CHECK(f.took() <= (2 * 5 + 2 * 5) * one_way);
  check_members(r.outcome(), {6, 7}, member_state::not_reached, phase::delivery, errc::peer_died, 5);
}

TEST_CASE("the root's own failure ends a broadcast, and so does a refusal by its `prepare`", "[fail_fast]") {
  virtual_cluster c(5);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->usual = 10s;
  const error broken(errc::io_error, "broken");
  service.log->work = {{0, 1ms}};
  service.log->failing = {{0, broken}};
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = fail_fast});
  auto& r = f.land();
  check_failed(r, service, 5, 0, broken);
  CHECK(f.took() <= 1ms + 8 * one_way);
}

TEST_CASE("losses on many paths at once go up in few parts, and each member is settled once", "[fail_fast]") {
  constexpr std::uint32_t n = 64;
  for (const tree_spec& spec : deep_trees) {
    INFO(to_string(spec));
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    service.log->usual = 10s;
    for (std::uint32_t rank = 1; rank < n; rank += 2) {
      service.log->work[rank] = 0ns;
      service.log->failing[rank] = error(errc::io_error, "broken");
    }
    flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = fail_fast});
    auto& r = f.land();
    check_account(r, *service.log, n);
    CHECK(r.status().error() == errc::io_error);
    for (const cause& why : r.outcome().causes()) CHECK(why.what != errc::malformed);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("without memory for parts a broadcast that is to fail fast is busy, others are not",
          "[fail_fast]") {
  node_options few;
  few.reply_memory = 4096;
  virtual_cluster c(8, few);
  probe service;
  c.serve(service);
  auto broad = c.make_group<probe>(0, kary{2});
  const auto busy = c.bcast(broad, {}, {.on_failure = fail_fast});
  CHECK(busy.status().error() == errc::busy);
  CHECK(busy.status().error().text() ==
        "4096 bytes are left for parts of replies, 8192 needed: node.reply_memory is 4096");
  CHECK(busy.outcome().not_reached().size() == 8);
  CHECK(c.bcast(broad, {}).ok());
  auto flat_group = c.make_group<probe>(0, flat{});  // leaves send no parts
  CHECK(c.bcast(flat_group, {}, {.on_failure = fail_fast}).ok());
  auto line = c.make_group<probe>(0, chain{});
  service.log->usual = 1ms;
  flight<probe> first(c, line, {}, {.on_failure = fail_fast});
  const auto second = c.bcast(line, {}, {.on_failure = fail_fast});
  CHECK(second.status().error() == errc::busy);
  CHECK(first.land().ok());
  CHECK(c.bcast(line, {}, {.on_failure = fail_fast}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("a member without memory for parts refuses, and may be asked again", "[fail_fast]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  c.make_group<probe>(0, chain{});
  node_options none;
  none.reply_memory = 0;
  c.reboot(1, 2, none);
  c[1].serve(service).value();
  std::optional<group<probe>> again;
  REQUIRE(c.until([&] {
    const auto made = c.try_group<probe>(0, chain{});
    if (made) again = *made;
    return made.has_value();
  }));
  service.log->clear();
  const auto r = c.bcast(*again, {}, {.on_failure = fail_fast});
  CHECK(r.status().error() == errc::busy);
  CHECK(r.outcome().why(1).where == phase::admission);
  CHECK(service.log->executed.count(1) == 0);
  CHECK(c.bcast(*again, {}).ok());
}
