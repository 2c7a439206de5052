#include <chrono>
#include <optional>
#include <set>
#include <vector>

#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

// Broadcasts whose await ends when enough members are merged.
namespace {

constexpr nanoseconds a_hop = 10us;
constexpr tree_spec quorum_trees[] = {flat{}, chain{}, knomial{2}, kary{2}, knomial{4}, greedy{7, 1, 1}};

/// The value is made of exactly the merged members.
void check_value(const bcast_result<probe::reply>& r) {
  INFO(describe(r.outcome()));
  std::uint64_t total = 0;
  r.outcome().merged().for_each([&](std::uint32_t rank) { total += rank + 1; });
  REQUIRE(r.has_value() == !r.outcome().merged().empty());
  if (!r.has_value()) return;
  REQUIRE(r->total.value == total);
  REQUIRE(r->members.value == r.outcome().merged().size());
}

/// Waits for the rest, and checks that it changes nothing that was known, and leaves nothing open.
outcome check_rest(cluster& c, const bcast_result<probe::reply>& r) {
  outcome rest = c.run(r.rest());
  INFO("first " << describe(r.outcome()) << "\nthen " << describe(rest));
  REQUIRE(rest.members() == r.outcome().members());
  REQUIRE(rest.pending().empty());
  for (std::uint32_t rank = 0; rank < rest.members(); ++rank) {
    const member_state then = r.outcome().state(rank), now = rest.state(rank);
    if (then == member_state::pending) {
      REQUIRE(now != member_state::merged);
    } else {
      REQUIRE(now == then);
    }
  }
  check_value(r);
  return rest;
}

/// A cluster of probes, of which some never return by themselves.
struct slow_cluster {
  slow_cluster(std::uint32_t n, const tree_spec& spec, const std::set<std::uint32_t>& stuck,
               world_kind kind = world_kind::memory)
      : c(kind, n) {
    c.serve(service);
    g = c.make_group<probe>(0, spec);
    service.log->stuck = stuck;
  }
  ~slow_cluster() {
    service.log->release.set();
    c.quiet();
  }

  cluster c;
  probe service;
  group<probe> g;
};

/// Counts where `finish` runs, and what `on_reply` hears.
struct finishing {
  static constexpr service_id id{0x0223};
  static constexpr std::string_view name = "finishing";
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);
  struct request {};
  struct reply {
    sum<std::uint32_t> members;
  };
  struct record {
    std::map<std::uint32_t, int> finished;
    std::uint32_t seen_by_finish = 0;
    std::uint32_t heard = 0;  ///< members in what the root's `on_reply` heard
    std::set<std::uint32_t> slow;
    bool refuses = false;
    event release;
  };
  std::shared_ptr<record> log = std::make_shared<record>();

  task<result<reply>> execute(const request&, bcast_context& c) {
    if (log->slow.contains(c.rank())) co_await log->release.wait();
    co_return reply{{1}};
  }
  void on_reply(const arrival<reply>& a, bcast_context& c) {
    if (c.is_root() && a.value != nullptr) log->heard += a.value->members.value;
  }
  status finish(reply& r, bcast_context& c) {
    ++log->finished[c.rank()];
    log->seen_by_finish = r.members.value;
    if (log->refuses) return error(errc::io_error, "not this one");
    return {};
  }
};

/// A reply whose merged value is larger than a small part.
struct wide {
  static constexpr service_id id{0x0224};
  static constexpr std::string_view name = "wide";
  static constexpr std::size_t reply_capacity = 20000;
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);
  struct request {};
  struct reply {
    concatenation<std::vector<std::byte>> said;
  };
  std::shared_ptr<std::set<std::uint32_t>> slow = std::make_shared<std::set<std::uint32_t>>();
  std::shared_ptr<event> release = std::make_shared<event>();

  task<result<reply>> execute(const request&, bcast_context& c) {
    if (slow->contains(c.rank())) co_await release->wait();
    reply mine;
    mine.said.parts.push_back({c.rank(), false, std::vector<std::byte>(3000)});
    co_return mine;
  }
};

}  // namespace

TEST_CASE("the await ends when enough members are merged, in any tree, wherever the others are", "[quorum]") {
  for (const tree_spec& spec : quorum_trees) {
    for (const std::uint32_t n : {2U, 3U, 7U, 8U, 9U, 16U, 17U}) {
      for (std::uint32_t stuck = 0; stuck < n; stuck += n > 9 ? 5 : 1) {
        INFO(to_string(spec) << ", " << n << " members, " << stuck << " stands still");
        slow_cluster s(n, spec, {stuck});
        flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum{n - 1}});
        auto& r = f.land();
        REQUIRE(r.ok());
        CHECK(f.took() < 2ms);
        CHECK(r.outcome().merged().size() == n - 1);
        CHECK(r.outcome().pending() == rank_set{stuck});
        check_value(r);
        s.service.log->release.set();
        const outcome rest = check_rest(s.c, r);
        CHECK(rest.state(stuck) == member_state::executed);
        CHECK(rest.why(stuck).what == errc::stale);
        REQUIRE(s.c.quiet());
      }
    }
  }
}

TEST_CASE("each size of a quorum ends when that many are merged, and not later than in their turn",
          "[quorum]") {
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : quorum_trees) {
    virtual_cluster c(n);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    const tree_view tree(spec, n, 0);
    for (std::uint32_t rank = 0; rank < n; ++rank)
      service.log->work[rank] = ((rank * 5) % n) * 10ms + 1ms;  // each is done in its own time
    for (std::uint32_t k = 1; k <= n; ++k) {
      INFO(to_string(spec) << ", quorum of " << k);
      service.log->clear();
      flight<probe> f(c, g, {}, {.until = quorum{k}});
      auto& r = f.land();
      REQUIRE(r.ok());
      CHECK(r.outcome().merged().size() == k);
      CHECK(r.outcome().pending().size() == n - k);
      const std::uint32_t last = 2 * (k - 1) % n;  // of them, and its request and reply pass each level
      CHECK(f.took() == (k - 1) * 10ms + 1ms + 2 * tree.depth(last) * a_hop);
      const outcome rest = check_rest(c, r);
      CHECK(rest.executed().size() == n);
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("a member that stands still below an interior of a chain keeps no quorum waiting",
          "[quorum][world]") {
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2})}) {
    slow_cluster s(8, spec, {7}, any_kind_of_world());
    flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum{7}});
    auto& r = f.land();
    REQUIRE(r.ok());
    CHECK(f.took() < 5s);
    CHECK(r.outcome().pending() == rank_set{7});
    check_value(r);
    s.service.log->release.set();
    CHECK(check_rest(s.c, r).executed().size() == 8);
  }
}

TEST_CASE("a dead interior keeps no quorum of the others waiting", "[quorum]") {
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : quorum_trees) {
    const tree_view tree(spec, n, 0);
    for (const std::uint32_t victim : {1U, 2U, 4U}) {
      const auto lost = tree.subtree(victim);
      const auto k = static_cast<std::uint32_t>(n - lost.size());
      INFO(to_string(spec) << ", victim " << victim);
      virtual_cluster c(n);
      probe service;
      c.serve(service);
      auto g = c.make_group<probe>(0, spec);
      REQUIRE(c.bcast(g, {}).ok());
      c.network.freeze(victim);
      flight<probe> f(c, g, {}, {.until = quorum{k}});
      auto& r = f.land();
      REQUIRE(r.ok());
      CHECK(f.took() < 2ms);
      check_value(r);
      for (const std::uint32_t rank : lost) CHECK(r.outcome().state(rank) == member_state::pending);
      const outcome rest = c.run(r.rest());
      for (const std::uint32_t rank : lost) CHECK(rest.state(rank) == member_state::unknown);
      c.network.thaw(victim);
      REQUIRE(c.quiet());
    }
  }
}

TEST_CASE("a quorum that cannot be reached any more ends the await, with what is merged", "[quorum]") {
  for (const tree_spec& spec : quorum_trees) {
    INFO(to_string(spec));
    slow_cluster s(9, spec, {4});
    for (const std::uint32_t rank : {3U, 7U}) s.service.log->failing[rank] = error(errc::io_error, "broken");
    flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum{8}});
    auto& r = f.land();
    CHECK(f.took() < 2ms);
    CHECK(r.status().error() == errc::incomplete);
    CHECK_THAT(std::string(r.status().error().text()),
               Catch::Contains("of 8 needed") && Catch::Contains("broken"));
    CHECK(r.outcome().failed() == rank_set{3, 7});
    CHECK(r.outcome().state(4) == member_state::pending);
    check_value(r);
    s.service.log->release.set();
    CHECK(check_rest(s.c, r).executed().size() == 7);
  }
}

TEST_CASE("a quorum in each of several sets", "[quorum]") {
  const std::vector<quorum_set> sets{
      {rank_set{0, 1, 2}, 2}, {rank_set{3, 4, 5}, 2}, {rank_set{0, 6, 7, 8}, 3}};
  SECTION("is reached when each has its own") {
    slow_cluster s(9, chain{}, {1, 5, 7});
    flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum_sets(sets)});
    auto& r = f.land();
    REQUIRE(r.ok());
    CHECK(r.outcome().pending() == rank_set{1, 5, 7});
    check_value(r);
  }
  SECTION("waits for the last of them") {
    slow_cluster s(9, chain{}, {1, 4, 5});
    flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum_sets(sets)});
    s.c.pass(100ms);
    CHECK_FALSE(f.done());
    s.service.log->release.set();
    CHECK(f.land().ok());
  }
  SECTION("is given up when one of them cannot have it") {
    slow_cluster s(9, chain{}, {1});
    for (const std::uint32_t rank : {3U, 4U}) s.service.log->failing[rank] = error(errc::io_error, "broken");
    flight<probe> f(s.c, s.g, {}, {.deadline = 20s, .until = quorum_sets(sets)});
    auto& r = f.land();
    CHECK(r.status().error() == errc::incomplete);
    CHECK_THAT(std::string(r.status().error().text()),
               Catch::Contains("of 2 needed: execute: io_error: broken"));
    CHECK(f.took() < 2ms);
  }
}

TEST_CASE("a condition that no broadcast can meet is refused before anything is sent", "[quorum]") {
  virtual_cluster c(5);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  const std::vector<quorum_set> beyond{{rank_set{0, 7}, 2}}, none{{rank_set{0, 1}, 0}};
  for (const end_condition& until : {end_condition(quorum{0}), end_condition(quorum{6}), quorum_sets({}),
                                     quorum_sets(beyond), quorum_sets(none)}) {
    const auto r = c.bcast(g, {}, {.until = until});
    CHECK(r.status().error() == errc::invalid_argument);
    CHECK(r.outcome().not_reached().size() == 5);
    CHECK(c.run(r.rest()).not_reached().size() == 5);
  }
  CHECK(c.bcast(g.only(rank_set{0, 1, 2}), {}, {.until = quorum{4}}).status().error() ==
        errc::invalid_argument);
  CHECK(c.bcast(g.only(rank_set{0, 1, 2}), {}, {.until = quorum{3}}).ok());
  const std::vector<std::byte> data(10);
  CHECK(c.bcast(g, {}, {.until = quorum{3}, .bulk = std::span<const std::byte>(data)}).status().error() ==
        errc::unsupported);
  CHECK(c.engine(0).operations() == 0);
  CHECK(c.engine(0).memory_for_parts().used() == 0);
  REQUIRE(c.quiet());
}

TEST_CASE("the first success of several, and of one", "[quorum]") {
  virtual_cluster one(1);
  probe service;
  one.serve(service);
  auto alone = one.make_group<probe>(0, chain{});
  CHECK(one.bcast(alone, {}, {.until = first_success}).ok());
  slow_cluster s(4, flat{}, {0, 1, 3});
  auto r = s.c.bcast(s.g, {}, {.deadline = 10s, .until = first_success});
  CHECK(r.ok());
  CHECK(r.outcome().merged() == rank_set{2});
  CHECK(r->total.value == 3);
}

TEST_CASE("stragglers that are not wanted are told to stop", "[quorum]") {
  for (const tree_spec& spec : quorum_trees) {
    INFO(to_string(spec));
    virtual_cluster c(8);
    probe service;
    c.serve(service);
    auto g = c.make_group<probe>(0, spec);
    for (const std::uint32_t rank : {2U, 5U, 7U}) service.log->work[rank] = 10s;
    flight<probe> f(c, g, {}, {.deadline = 30s, .until = quorum{5}, .rest = stragglers::abort});
    auto& r = f.land();
    REQUIRE(r.ok());
    CHECK(r.outcome().pending() == rank_set{2, 5, 7});
    const time_point then = c.now();
    const outcome rest = check_rest(c, r);
    CHECK(c.now() - then < 1ms);
    for (const std::uint32_t rank : {2U, 5U, 7U}) {
      CHECK(rest.state(rank) == member_state::failed);
      CHECK(service.log->stopped[rank] == 1);
    }
    REQUIRE(c.quiet());
  }
}

TEST_CASE("stragglers end with their group, with its revoke, and with their node", "[quorum]") {
  virtual_cluster c(6);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  service.log->work[4] = 20s;
  auto r = c.bcast(g, {}, {.deadline = 60s, .until = quorum{5}});
  REQUIRE(r.ok());
  CHECK(c.engine(0).operations() == 1);
  const time_point then = c.now();
  SECTION("the group is destroyed") {
    c.run(c[0].destroy(g)).value();
  }
  SECTION("the group is revoked") {
    c.run(g.revoke(7)).value();
  }
  SECTION("the root shuts down") {
    auto of_all = r.rest();
    CHECK(c.stop(0));
    CHECK(c.run(std::move(of_all)).state(4) != member_state::pending);
    return;
  }
  const outcome rest = c.run(r.rest());
  CHECK(c.now() - then < 1s);
  CHECK((rest.state(4) == member_state::failed || rest.state(4) == member_state::unknown));
  REQUIRE(c.quiet());
  CHECK(service.log->stopped[4] == 1);
}

TEST_CASE("a broadcast with a condition can still be cancelled, and run out of time", "[quorum]") {
  slow_cluster s(6, chain{}, {2, 3});
  stop_source stop;
  flight<probe> f(s.c, s.g, {}, {.deadline = 10s, .stop = stop.token(), .until = quorum{5}});
  s.c.pass(1ms);
  CHECK_FALSE(f.done());
  SECTION("cancelled") {
    stop.request_stop();
    CHECK(f.land().status().error() == errc::cancelled);
  }
  SECTION("too late") {
    // Members say that they are late before the root's own time is over.
    CHECK(f.land().status().error() == errc::incomplete);
    CHECK_THAT(
        std::string(f.land().status().error().text()),
        Catch::StartsWith("4 merged and 0 pending of 5 needed") && Catch::Contains("deadline_exceeded"));
  }
  SECTION("and in time") {
    s.service.log->release.set();
    CHECK(f.land().ok());
    stop.request_stop();  // nobody listens
    s.c.pass(1ms);
  }
  CHECK(f.land().outcome().pending().empty() == !f.land().ok());
  check_value(f.land());
  CHECK(s.c.run(f.land().rest()).pending().empty());
}

TEST_CASE("with fail_fast a failure ends the wait for a quorum, unless that is there first", "[quorum]") {
  slow_cluster s(8, chain{}, {2});
  s.service.log->failing[7] = error(errc::io_error, "broken");
  SECTION("the failure comes first") {
    s.service.log->work[3] = 10ms;
    auto r = s.c.bcast(s.g, {}, {.deadline = 10s, .on_failure = fail_fast, .until = quorum{6}});
    CHECK(r.status().error() == error(errc::io_error, "broken"));
    CHECK(r.outcome().pending().empty());
  }
  SECTION("the quorum comes first") {
    s.service.log->work[7] = 10ms;
    auto r = s.c.bcast(s.g, {}, {.deadline = 10s, .on_failure = fail_fast, .until = quorum{6}});
    CHECK(r.ok());
    s.c.pass(20ms);
    s.service.log->release.set();
    const outcome rest = check_rest(s.c, r);
    CHECK(rest.failed() == rank_set{7});
    CHECK(rest.state(2) == member_state::executed);
  }
}

TEST_CASE("finish runs once, at the root, over the value that is given out", "[quorum]") {
  const bool refuses = GENERATE(false, true);
  for (const tree_spec& spec : quorum_trees) {
    INFO(to_string(spec));
    virtual_cluster c(8);
    finishing service;
    c.serve(service);
    auto g = c.make_group<finishing>(0, spec);
    service.log->slow = {6};
    service.log->refuses = refuses;
    auto r = c.bcast(g, {}, {.deadline = 10s, .until = quorum{7}});
    CHECK(r.ok() == !refuses);
    CHECK(r.has_value() == !refuses);
    CHECK(service.log->seen_by_finish == 7);
    if (refuses) CHECK(r.outcome().executed().size() == 7);
    service.log->release.set();
    const outcome rest = c.run(r.rest());
    CHECK(rest.executed().size() == 8);
    CHECK(service.log->finished == std::map<std::uint32_t, int>{{0, 1}});
    CHECK(service.log->heard == 7);  // each member below the root once
    REQUIRE(c.quiet());
  }
}

TEST_CASE("finish runs once, at the root, over what further rounds have brought as well",
          "[quorum][repair]") {
  constexpr std::uint32_t n = 8, victim = 1;
  for (const tree_spec& spec : quorum_trees) {
    INFO(to_string(spec));
    virtual_cluster c(n);
    finishing service;
    c.serve(service);
    auto g = c.make_group<finishing>(0, spec);
    service.log->slow = {victim, 4, 6};
    flight<finishing> f(c, g, {}, {.deadline = 10s, .on_failure = repair});
    c.pass(1ms);
    c.kill(victim);
    for (std::uint32_t i = 0; i < n; ++i) {
      if (i != victim) c.engine(i).on_dead(victim + 1, 1);
    }
    service.log->release.set();
    auto& r = f.land();
    INFO(describe(r.outcome()));
    CHECK(r.outcome().merged().size() == n - 1);
    CHECK(r->members.value == n - 1);
    CHECK(service.log->finished == std::map<std::uint32_t, int>{{0, 1}});
    CHECK(service.log->seen_by_finish == n - 1);
    CHECK(service.log->heard == n - 2);  // each survivor below the root once
    c.revive(victim);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("values larger than a small part come in parts, too", "[quorum]") {
  virtual_cluster c(7);
  wide service;
  c.serve(service);
  auto g = c.make_group<wide>(0, chain{});
  *service.slow = {6};
  auto r = c.bcast(g, {}, {.deadline = 10s, .until = quorum{6}});
  INFO(describe(r.outcome()));
  REQUIRE(r.ok());
  CHECK(r->said.parts.size() == 6);
  service.release->set();
  CHECK(c.run(r.rest()).executed().size() == 7);
  REQUIRE(c.quiet());
}

TEST_CASE("a result may go before the rest, and the rest may be awaited twice, or never", "[quorum]") {
  slow_cluster s(5, chain{}, {3});
  std::optional<task<outcome>> first, second;
  {
    auto r = s.c.bcast(s.g, {}, {.deadline = 10s, .until = quorum{4}});
    REQUIRE(r.ok());
    first = r.rest();
    second = r.rest();
  }
  {
    CHECK(s.c.bcast(s.g, {}, {.deadline = 10s, .until = quorum{4}}).ok());
  }
  s.service.log->release.set();
  CHECK(s.c.run(std::move(*first)).state(3) == member_state::executed);
  CHECK(s.c.run(std::move(*second)).state(3) == member_state::executed);
  auto plain = s.c.bcast(s.g, {});
  CHECK(s.c.run(plain.rest()).clean());
  REQUIRE(s.c.quiet());
}

TEST_CASE("a broadcast of many members with a quorum sends few messages up", "[quorum]") {
  const std::uint32_t n = GENERATE(256U, 1024U);
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, knomial{4});
  REQUIRE(c.bcast(g, {}).ok());
  std::uint64_t parts = 0;
  for (std::uint32_t i = 0; i < n; ++i) parts -= c.engine(i).statistics().reply_parts;
  auto r = c.bcast(g, {}, {.until = quorum{n / 2 + 1}});
  REQUIRE(r.ok());
  CHECK(c.run(r.rest()).executed().size() == n);
  for (std::uint32_t i = 0; i < n; ++i) parts += c.engine(i).statistics().reply_parts;
  CHECK(parts <= 2 * (n - 1));  // and as many last parts as members
}
