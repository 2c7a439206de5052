#include <algorithm>
#include <chrono>
#include <set>

#include "probe.hpp"
#include "scoll/collective/operation/own_records.hpp"
#include "scoll/coro/error_format.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

constexpr nanoseconds one_way = 10us;
constexpr std::uint32_t sizes[] = {3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
constexpr tree_spec deep_trees[] = {chain{}, knomial{2}, kary{2}, knomial{4}};

std::uint64_t rounds(cluster& c, std::uint32_t root) {
  return c.engine(root).statistics().repair_rounds;
}

/// All members but these have executed once and are merged.
void check_repaired(const bcast_result<probe::reply>& r, probe& service, std::uint32_t n,
                    const std::set<std::uint32_t>& lost) {
  INFO(describe(r.outcome()));
  check_account(r, *service.log, n);
  for (std::uint32_t rank = 0; rank < n; ++rank) {
    INFO("rank " << rank);
    if (!lost.contains(rank)) REQUIRE(r.outcome().state(rank) == member_state::merged);
  }
  CHECK(r.status().has_value() == lost.empty());
}

/// Everybody hears that a member is dead.
void bury(cluster& c, std::uint32_t victim) {
  c.kill(victim);
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    if (i != victim) c.engine(i).on_dead(victim + 1, 1);
  }
}

/// The root calls a member dead, wrongly, so that its request is lost.
void lose_for_a_moment(cluster& c, std::uint32_t rank) {
  c.engine(0).on_dead(rank + 1, 1);
  c.engine(0).on_alive(rank + 1, 1);
}

}  // namespace

TEST_CASE("without a loss a broadcast that would be repaired is like any other", "[repair]") {
  for (const tree_spec& spec : deep_trees) {
    virtual_cluster c(9);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(4, spec);
    REQUIRE(c.bcast(g, {}).ok());
    service.log->clear();
    flight<probe> plain(c, g, {}, {.deadline = 10s});
    REQUIRE(plain.land().ok());
    service.log->clear();
    flight<probe> f(c, g, {}, {.deadline = 10s, .on_failure = repair});
    auto& r = f.land();
    check_repaired(r, service, 9, {});
    CHECK(f.took() == plain.took());
    CHECK(rounds(c, 4) == 0);
    for (std::uint32_t i = 0; i < 9; ++i) CHECK(c.engine(i).statistics().reply_parts == 0);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("survivors of a death execute once and are merged, wherever the dead one was", "[repair]") {
  for (const tree_spec& spec : deep_trees) {
    for (const std::uint32_t n : sizes) {
      const std::uint32_t root = n / 2;
      for (std::uint32_t victim = 0; victim < n; victim += (n > 9 ? 5 : 1)) {
        if (victim == root) continue;
        INFO(to_string(spec) << ", " << n << " members, root " << root << ", victim " << victim);
        virtual_cluster c(n);
        probe service;
        c.serve(service);
        auto g = c.make_group<probe>(root, spec);
        service.log->usual = 100ms;
        flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
        c.pass(20us);  // some have the request, others do not
        bury(c, victim);
        auto& r = f.land();
        check_repaired(r, service, n, {victim});
        CHECK(f.took() < 1s);
        c.revive(victim);
        REQUIRE(c.quiet());
      }
    }
  }
}

TEST_CASE("orphans execute soon after the loss, and do not wait for a sibling that works", "[repair]") {
  constexpr std::uint32_t n = 33;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, knomial{2});
  REQUIRE(c.bcast(g, {}).ok());
  service.log->clear();
  const tree_view tree(knomial{2}, n, 0);
  service.log->work = {{1, 10s}};
  const std::uint32_t victim = 16;
  REQUIRE(tree.subtree(victim).size() > 8);
  c.freeze(victim);
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
  c.pass(1s);
  REQUIRE(service.log->executed.size() == n - tree.subtree(victim).size());
  c.engine(tree.parent(victim)).on_dead(victim + 1, 1);
  // One way up for each level, the time in which losses gather, and the way to whom nobody has been connected to.
  c.pass(node_options{}.rtt_estimate + 10 * one_way);
  CHECK(service.log->executed.size() == n - 1);
  CHECK_FALSE(f.done());
  c.thaw(victim);
  auto& r = f.land();
  CHECK(f.took() < 11s);
  check_account(r, *service.log, n);
  std::uint64_t asked = 0;
  for (std::uint32_t i = 0; i < n; ++i) asked += c.engine(i).statistics().received;
  CHECK(asked <=
        3 * (n - 1) + tree.subtree(victim).size());  // created, asked twice, and the orphans once more
}

TEST_CASE("a death among many is repaired over the tree, and a second one below the first as well",
          "[repair]") {
  constexpr std::uint32_t n = 200;
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2})}) {
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    service.log->usual = 1ms;
    const std::set<std::uint32_t> lost{64, 100, 128};
    for (const std::uint32_t victim : lost) c.kill(victim);
    flight<probe> f(c, g, {}, {.on_failure = repair});
    auto& r = f.land();
    INFO(to_string(spec) << ", " << describe(r.outcome()));
    check_repaired(r, service, n, lost);
    CHECK(rounds(c, 0) >= 2);
    std::uint64_t accepted = 0;
    for (std::uint32_t i = 0; i < n; ++i) accepted += c.engine(i).statistics().received;
    CHECK(accepted <= (n - 1) + 3 * (n - 1));  // created, and asked at most three times
    for (const std::uint32_t victim : lost) c.revive(victim);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a dead interior member is gone round over every transport", "[repair][world]") {
  const world_kind kind = any_kind_of_world({fault::part});
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2})}) {
    cluster c(kind, n);
    probe service;
    service.log->usual = 50ms;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    flight<probe> f(c, g, {}, {.deadline = 30s, .on_failure = repair});
    c.pass(5ms);
    c.kill(4);
    auto& r = f.land();
    check_repaired(r, service, n, {4});
    c.revive(4);
    REQUIRE(c.quiet());
    if (!is_virtual(kind)) return;  // each death takes a real second
  }
}

TEST_CASE("a member that is called dead wrongly executes once, and its own reply is merged", "[repair]") {
  for (const bool has_answered : {false, true}) {
    virtual_cluster c(5);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, chain{});
    service.log->usual = 1s;
    service.log->work = {{4, has_answered ? 2s : 1s}, {2, has_answered ? 1s : 3s}};
    flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
    c.pass(1500ms);
    c.engine(1).on_dead(3, 1);  // the parent alone believes it
    auto& r = f.land();
    check_repaired(r, service, 5, {});
    CHECK(rounds(c, 0) == 1);
    CHECK(service.log->stopped.empty());
    c.engine(1).on_alive(3, 1);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that stands still for three quarters of a deadline is asked again, as are those below it",
          "[repair]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  REQUIRE(c.bcast(g, {}).ok());
  service.log->clear();
  c.freeze(1);
  flight<probe> f(c, g, {}, {.deadline = 8s, .on_failure = repair});
  c.pass(5900ms);
  CHECK(service.log->executed.size() == 1);
  c.pass(200ms);
  CHECK(service.log->executed.size() == 3);
  c.thaw(1);
  auto& r = f.land();
  check_repaired(r, service, 4, {});
  CHECK(f.took() < 7s);
  REQUIRE(c.quiet());
}

TEST_CASE("work that takes longer than the first round is not stopped, and its reply is asked for again",
          "[repair]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->work = {{2, 7s}};
  flight<probe> f(c, g, {}, {.deadline = 8s, .on_failure = repair});
  auto& r = f.land();
  check_repaired(r, service, 4, {});
  CHECK(f.took() < 7100ms);
  SECTION("unless it takes longer than the deadline") {
    service.log->clear();
    service.log->work = {{2, 9s}};
    flight<probe> late(c, g, {}, {.deadline = 8s, .on_failure = repair});
    auto& end = late.land();
    check_account(end, *service.log, 4);
    CHECK(end.outcome().state(2) != member_state::merged);
    CHECK(end.outcome().merged().size() == 3);
    c.pass(1s);
    CHECK(service.log->stopped.count(2) == 1);
  }
  REQUIRE(c.quiet());
}

TEST_CASE("who answers late in a further round fails alone, and errors of members are theirs", "[repair]") {
  virtual_cluster c(6);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->usual = 1s;
  service.log->failing = {{4, error(errc::io_error, "broken")}};
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
  c.pass(500ms);
  bury(c, 2);
  auto& r = f.land();
  check_repaired(r, service, 6, {2, 4});
  CHECK(r.outcome().why(4).what == error(errc::io_error, "broken"));
  CHECK(r.outcome().why(4).reporter == 4);
  CHECK(r.status().error() == errc::incomplete);
  c.revive(2);
  REQUIRE(c.quiet());
}

TEST_CASE("records are kept while the broadcast may be repaired, and go with the next one", "[repair]") {
  virtual_cluster c(4);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, flat{});
  REQUIRE(c.bcast(g, {}, {.on_failure = repair}).ok());
  const std::size_t each = c.engine(1).records().used();
  CHECK(each > 128);
  REQUIRE(c.bcast(g, {}, {.on_failure = repair}).ok());
  CHECK(c.engine(1).records().size() == 1);
  REQUIRE(c.bcast(g, {}).ok());
  CHECK(c.engine(1).records().size() == 0);
  CHECK(c.engine(1).records().used() == 0);
  REQUIRE(c.bcast(g, {}, {.deadline = 1s, .on_failure = repair}).ok());
  CHECK(c.engine(1).records().size() == 1);
  c.pass(4s);
  CHECK(c.engine(1).records().size() == 0);
  CHECK(c.engine(0).records().size() == 0);  // nobody asks the root again
}

TEST_CASE("two further rounds run at once, and what is lost meanwhile waits for one of them to end",
          "[repair]") {
  virtual_cluster c(7);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, flat{});
  for (std::uint32_t rank = 1; rank < 7; ++rank) service.log->work[rank] = rank < 3 ? rank * 10s : 5s;
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
  for (std::uint32_t rank = 1; rank < 7; ++rank) {
    lose_for_a_moment(c, rank);
    c.pass(100ms);
    CHECK(rounds(c, 0) == std::min(rank, 2U));
  }
  c.pass(9s);
  CHECK(rounds(c, 0) == 2);
  c.pass(1s);
  CHECK(rounds(c, 0) == 3);
  auto& r = f.land();
  check_repaired(r, service, 7, {});
  CHECK(rounds(c, 0) == 3);
  REQUIRE(c.quiet());
}

TEST_CASE("a broadcast has eight further rounds, and what is lost after them stays lost", "[repair]") {
  constexpr std::uint32_t n = 12, most_rounds = 8;
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, flat{});
  for (std::uint32_t rank = 1; rank < n; ++rank) service.log->work[rank] = rank * 1s;
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
  c.pass(500ms);
  for (std::uint32_t rank = 1; rank < n; ++rank) {
    lose_for_a_moment(c, rank);
    c.pass(1s);
  }
  CHECK(rounds(c, 0) == most_rounds);
  auto& r = f.land();
  check_repaired(r, service, n, {9, 10, 11});
  CHECK(r.outcome().unknown() == rank_set{9, 10, 11});
  CHECK(rounds(c, 0) == most_rounds);
  REQUIRE(c.quiet());
}

TEST_CASE("a member without memory for records refuses, and other broadcasts go on there", "[repair]") {
  node_options none;
  none.repair_memory = 0;
  virtual_cluster c(3, none);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  const auto r = c.bcast(g, {}, {.on_failure = repair});
  check_account(r, *service.log, 3);
  CHECK(r.outcome().merged().size() == 1);
  CHECK(r.outcome().why(1).what == errc::busy);
  CHECK(r.outcome().why(2).what == errc::busy);
  service.log->clear();
  CHECK(c.bcast(g, {}).ok());
  REQUIRE(c.quiet());
}

TEST_CASE("a broadcast that cannot be repaired says so before anything is sent", "[repair]") {
  virtual_cluster c(3);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  const auto refused = [&](const group<probe>& to, const bcast_options& options) {
    const auto r = c.bcast(to, {}, options);
    INFO(describe(r.status().error()));
    CHECK(r.status().error() == errc::unsupported);
    CHECK(r.outcome().not_reached().size() == 3);
  };
  refused(g, {.on_failure = repair, .until = quorum{2}});
  refused(g, {.on_failure = repair, .last = true});
  refused(g, {.on_failure = repair, .same_view = true});
  CHECK(service.log->executed.empty());
}

TEST_CASE("a stop of the caller, and the end of its time, end further rounds as well", "[repair]") {
  virtual_cluster c(5);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->usual = 20s;
  stop_source stop;
  const bool by_stop = GENERATE(true, false);
  flight<probe> f(c, g, {}, {.deadline = by_stop ? 60s : 8s, .stop = stop.token(), .on_failure = repair});
  c.pass(500ms);
  bury(c, 1);
  c.pass(500ms);
  CHECK(rounds(c, 0) == 1);
  CHECK_FALSE(f.done());
  if (by_stop) stop.request_stop();
  auto& r = f.land();
  CHECK(f.took() < (by_stop ? 1100ms : 8100ms));
  CHECK(r.status().error() == (by_stop ? errc::cancelled : errc::deadline_exceeded));
  check_account(r, *service.log, 5);
  for (const std::uint32_t rank : {0U, 2U, 3U, 4U}) CHECK(service.log->stopped.count(rank) == 1);
  c.revive(1);
  REQUIRE(c.quiet());
}
