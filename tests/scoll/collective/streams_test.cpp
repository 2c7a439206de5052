#include <chrono>
#include <cstdint>
#include <optional>
#include <set>

#include "pages.hpp"
#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

// Replies that are streams of items, read one by one or collected.
namespace {

/// The numbers of members around powers of two.
constexpr std::uint32_t member_counts[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33};
constexpr tree_spec stream_trees[] = {chain{}, knomial{2}, kary{3}};

struct served {
  virtual_cluster c;
  pages service;
  group<pages> g;

  served(std::uint32_t n, const tree_spec& spec, std::uint32_t root = 0, const node_options& base = {})
      : c(n, base) {
    c.serve(service);
    g = c.make_group<pages>(root, spec);
  }
};

std::uint64_t parts_sent(cluster& c) {
  std::uint64_t sum = 0;
  for (std::uint32_t i = 0; i < c.size(); ++i) sum += c.engine(i).statistics().reply_parts;
  return sum;
}

}  // namespace

TEST_CASE("every item comes once and in order, over every tree and number of members", "[streams]") {
  for (const tree_spec& spec : trees) {
    for (const std::uint32_t n : member_counts) {
      served s(n, spec, n / 2);
      struct shape {
        std::uint32_t items, bytes;
      };
      for (const shape& each : {shape{0, 8}, shape{1, 0}, shape{50, 20}, shape{7, 30'000}, shape{3, 9'000}}) {
        INFO(to_string(spec) << ", " << n << " members, " << each.items << " items of " << each.bytes);
        *s.service.log = {};
        for (std::uint32_t rank = 0; rank < n; rank += 3) s.service.log->items[rank] = rank % 2;
        reading r(s.c, s.g, {each.items, each.bytes});
        r.land();
        check_items(r.account(), r.got(), *s.service.log, n);
        REQUIRE(r.how());
        REQUIRE(r.account().clean());
        REQUIRE(r.count() == s.service.log->all());
        for (const auto& [rank, items] : r.got()) REQUIRE(items.front().text.size() == each.bytes);
      }
      REQUIRE(s.c.quiet());
    }
  }
}

TEST_CASE("items come over every transport", "[streams][world]") {
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{3})}) {
    cluster c(any_kind_of_world(), 8);
    pages service;
    c.serve(service);
    auto g = c.make_group<pages>(3, spec);
    reading r(c, g, {60, 5'000}, {.deadline = 30s});
    r.land();
    check_items(r.account(), r.got(), *service.log, 8);
    REQUIRE(r.how());
    CHECK(r.count() == 480);
    auto all = c.bcast(g, {5, 100});
    REQUIRE(all.ok());
    CHECK(all->items.size() == 40);
    REQUIRE(c.quiet());
  }
}

TEST_CASE("the items of several members travel together", "[streams]") {
  served s(64, knomial{2});
  const std::uint64_t before = parts_sent(s.c);
  reading r(s.c, s.g, {3, 10});
  r.land();
  REQUIRE(r.how());
  CHECK(r.count() == 192);
  // One by one, the items alone would be 3 * 192 messages: as many as each member's way is long.
  CHECK(parts_sent(s.c) - before <= 4 * 63);
}

TEST_CASE("items may be as large as the limit, and no larger", "[streams]") {
  served s(4, chain{});
  constexpr std::uint32_t most = max_item_bytes - 8;  // with the number, and the length of the text
  reading exact(s.c, s.g, {5, most});
  exact.land();
  REQUIRE(exact.how());
  CHECK(exact.count() == 20);
  CHECK(exact.got().at(3).back().text.size() == most);
  *s.service.log = {};
  reading beyond(s.c, s.g, {5, most + 1});
  beyond.land();
  check_items(beyond.account(), beyond.got(), *s.service.log, 4);
  CHECK(beyond.how().error() == errc::incomplete);
  CHECK(beyond.account().failed().size() == 4);
  CHECK(beyond.account().why(2).what == errc::too_large);
  CHECK(beyond.account().why(2).where == phase::execute);
  CHECK(beyond.count() == 0);
}

TEST_CASE("a reader that stops holds all members back, and nothing piles up", "[streams]") {
  constexpr std::uint32_t n = 8;
  const tree_spec spec = stream_trees[GENERATE(0, 1, 2)];
  INFO(to_string(spec));
  served s(n, spec);
  reading r(s.c, s.g, {1'000, 30'000}, {.deadline = 60s}, 0ns, true);  // each item fills a part
  s.c.pass(5s);
  const std::uint32_t held = s.service.log->all();
  // Each node holds four parts of each child and two of its own; as many again are on their way.
  CHECK(held <= r.count() + 2 * (4 * (n - 1) + 2 * n));
  CHECK(held >= n);
  s.c.pass(5s);
  CHECK(s.service.log->all() == held);
  SECTION("it goes on") {
    r.land();
    check_items(r.account(), r.got(), *s.service.log, n);
    REQUIRE(r.how());
    CHECK(r.count() == n * 1'000);
  }
  SECTION("the deadline ends the broadcast, and what has come can still be read") {
    s.c.pass(60s);
    for (std::uint32_t i = 0; i < n; ++i) CHECK(s.c.engine(i).operations() == 0);
    CHECK(s.c.engine(0).memory_for_parts().used() != 0);  // for what has come and is not read
    CHECK_FALSE(r.done());
    r.land();
    CHECK(s.c.quiet());
    check_items(r.account(), r.got(), *s.service.log, n);
    CHECK(r.how().error() == errc::deadline_exceeded);
    CHECK(r.account().merged().empty());
    CHECK(r.count() >= 4);
    CHECK(s.service.log->refused.size() == n);
  }
  SECTION("nobody reads any more") {
    r.abandon();
    s.c.pass(1ms);
    for (std::uint32_t i = 0; i < n; ++i) CHECK(s.c.engine(i).operations() == 0);
    CHECK(s.service.log->refused.size() == n);
    CHECK(s.service.log->replied.size() == n);
    CHECK(s.c.quiet());
  }
  SECTION("the group is revoked") {
    REQUIRE(s.c.run(s.g.revoke(7, "enough")));
    s.c.pass(1s);
    for (std::uint32_t i = 0; i < n; ++i) CHECK(s.c.engine(i).operations() == 0);
    r.land();
    CHECK(r.how().error() == errc::revoked);
  }
  SECTION("the root shuts down") {
    CHECK(s.c.run(s.c[0].shutdown(4s)));  // it does not wait for the reader
    CHECK(s.c.engine(0).memory_for_parts().used() != 0);
    r.land();
    CHECK(r.how().error() == errc::closed);
    CHECK(s.c.engine(0).memory_for_parts().used() == 0);
  }
}

TEST_CASE("a slow reader gets everything", "[streams]") {
  for (const tree_spec& spec : stream_trees) {
    served s(9, spec, 4);
    reading r(s.c, s.g, {40, 12'000}, {.deadline = 60s}, 10ms);
    std::uint32_t ahead = 0;
    while (!r.done()) {
      s.c.pass(20ms);
      ahead = std::max(ahead, s.service.log->all() - r.count());
    }
    r.land();
    check_items(r.account(), r.got(), *s.service.log, 9);
    REQUIRE(r.how());
    CHECK(r.count() == 360);
    CHECK(ahead < 2 * 2 * (4 * 8 + 2 * 9));  // two items fill a part
  }
}

TEST_CASE("without a deadline the processing bound ends a broadcast whose reader has stopped", "[streams]") {
  served s(5, chain{});
  reading r(s.c, s.g, {1'000, 30'000}, {}, 0ns, true);
  s.c.pass(11s);
  for (std::uint32_t i = 0; i < 5; ++i) CHECK(s.c.engine(i).operations() == 0);
  r.land();
  CHECK(r.how().error() == errc::deadline_exceeded);
}

TEST_CASE("an interior member that dies costs the members whose last item has not come", "[streams][world]") {
  const world_kind kind = any_kind_of_world({fault::part});
  constexpr std::uint32_t n = 9;
  for (const tree_spec& spec : {tree_spec(chain{}), tree_spec(knomial{2}), tree_spec(kary{3})}) {
    const tree_view tree(spec, n, 0);
    for (const std::uint32_t victim : {1U, 2U, 4U}) {
      INFO(to_string(spec) << ", victim " << victim);
      cluster c(kind, n);
      pages service;
      c.serve(service);
      auto g = c.make_group<pages>(0, spec);
      for (std::uint32_t rank = 0; rank < n; ++rank) service.log->pause[rank] = 10ms;
      service.log->items[n - 1] = 1;  // it is at its end before the death
      reading r(c, g, {10, 500}, {.deadline = 30s});
      c.pass(45ms);
      c.kill(victim);
      r.land();
      INFO(describe(r.account()));
      check_items(r.account(), r.got(), *service.log, n);
      CHECK(r.how().error() == errc::incomplete);
      const std::set<std::uint32_t> lost = tree.subtree(victim);
      for (std::uint32_t rank = 0; rank < n; ++rank) {
        const bool merged = !lost.contains(rank) || rank == n - 1;
        CHECK(to_string(r.account().state(rank)) ==
              to_string(merged ? member_state::merged : member_state::unknown));
      }
      c.revive(victim);
      REQUIRE(c.quiet());
      if (!is_virtual(kind)) return;  // each death takes a real second
    }
  }
}

TEST_CASE("a member that fails after some items is not merged", "[streams]") {
  for (const tree_spec& spec : stream_trees) {
    served s(7, spec);
    const error broken(errc::io_error, "the disk is broken");
    s.service.log->failing = {{3, broken}, {0, broken}};
    reading r(s.c, s.g, {20, 1'000});
    r.land();
    check_items(r.account(), r.got(), *s.service.log, 7);
    CHECK(r.how().error() == errc::incomplete);
    CHECK(r.account().merged().size() == 5);
    CHECK(r.account().why(3).what == broken);
    CHECK(to_string(r.account().state(3)) == to_string(member_state::failed));
  }
}

TEST_CASE("the caller's token ends a stream", "[streams]") {
  for (const tree_spec& spec : stream_trees) {
    served s(9, spec);
    for (std::uint32_t rank = 0; rank < 9; ++rank) s.service.log->pause[rank] = 10ms;
    s.service.log->items[5] = 1;
    stop_source stop;
    reading r(s.c, s.g, {100, 100}, {.deadline = 60s, .stop = stop.token()});
    s.c.pass(105ms);
    stop.request_stop();
    s.c.pass(1ms);
    CHECK(r.done());
    r.land();
    check_items(r.account(), r.got(), *s.service.log, 9);
    CHECK(r.how().error() == errc::cancelled);
    CHECK(to_string(r.account().state(5)) == to_string(member_state::merged));
    CHECK(r.account().failed().size() == 8);
    CHECK(r.account().why(7).what == errc::cancelled);
    REQUIRE(s.c.quiet());
  }
}

TEST_CASE("members whose root, or whose parent, is known to be dead stop putting items", "[streams]") {
  const std::uint32_t dead = GENERATE(0U, 2U);
  served s(6, chain{});
  std::optional<reading> r;
  r.emplace(s.c, s.g, pages::request{1'000, 30'000}, bcast_options{.deadline = 600s}, 0ns, true);
  s.c.pass(1s);
  s.c.kill(dead);
  for (std::uint32_t i = 0; i < 6; ++i) {
    if (i != dead) s.c.engine(i).on_dead(dead + 1, 1);
  }
  s.c.pass(1s);
  for (std::uint32_t i = dead + 1; i < 6; ++i) {
    CHECK(s.c.engine(i).operations() == 0);
    CHECK(s.service.log->refused.at(i) == errc::peer_died);
  }
  s.c.revive(dead);
  r->abandon();
  s.c.pass(1s);
  r->land();
  r.reset();
}

TEST_CASE("a broadcast collects the items, up to a limit", "[streams]") {
  served s(6, knomial{2}, 2);
  auto all = s.c.bcast(s.g, {10, 1'000});
  REQUIRE(all.ok());
  CHECK(all->items.size() == 60);
  std::map<std::uint32_t, std::vector<page>> got;
  for (const auto& item : all->items) got[item.rank].push_back(item.value);
  check_items(all.outcome(), got, *s.service.log, 6);

  *s.service.log = {};
  s.service.log->items = {{1, 1}};
  for (std::uint32_t rank = 0; rank < 6; ++rank) s.service.log->pause[rank] = 10ms;
  auto some = s.c.bcast(s.g, {1'000, 1'000}, {.deadline = 60s, .collect_limit = 100'000});
  CHECK(some.status().error() == errc::too_large);
  REQUIRE(some.has_value());
  CHECK(some.outcome().merged().size() == 1);
  REQUIRE(some->items.size() == 1);
  CHECK(some->items[0].rank == 1);
  CHECK(s.service.log->put[3] < 50);  // it was told to stop

  *s.service.log = {};
  auto late = s.c.bcast(s.g, {3, 10}, {.collect_limit = 30});  // all have put everything by then
  CHECK(late.status().error() == errc::too_large);
  for (const auto& item : late.has_value() ? late->items : std::vector<parts<page>::item>())
    CHECK(late.outcome().state(item.rank) == member_state::merged);

  *s.service.log = {};
  s.service.log->failing = {{4, error(errc::io_error, "broken")}};
  auto part = s.c.bcast(s.g, {3, 10});
  CHECK(part.status().error() == errc::incomplete);
  REQUIRE(part.has_value());
  CHECK(part->items.size() == 15);  // without the items of member 4
}

TEST_CASE("streams are not for conditions, early failure, repair, traces or bulk data", "[streams]") {
  served s(4, chain{});
  const std::vector<std::byte> data(1'000);
  for (const bcast_options& options :
       {bcast_options{.until = quorum{2}}, bcast_options{.on_failure = fail_fast},
        bcast_options{.on_failure = repair}, bcast_options{.trace = true},
        bcast_options{.bulk = bulk_view(data)}}) {
    reading r(s.c, s.g, {1, 1}, options);
    r.land();
    CHECK(r.how().error() == errc::unsupported);
    CHECK(r.account().not_reached().size() == 4);
    CHECK(s.service.log->executed.empty());
  }
  const group<pages> none;
  auto empty = gather(none, {});
  CHECK(empty.status().error() == errc::invalid_argument);
  CHECK(empty.outcome().members() == 0);
}

TEST_CASE("a node with little memory gives its children fewer parts, or is busy", "[streams]") {
  node_options small;
  small.reply_memory = 10 * 32'768;
  served s(9, flat{}, 0, small);  // eight children and two parts of its own
  reading r(s.c, s.g, {20, 30'000});
  CHECK(s.c.engine(0).memory_for_parts().used() == small.reply_memory);
  reading second(s.c, s.g, {1, 1});
  second.land();
  CHECK(second.how().error() == errc::busy);
  r.land();
  check_items(r.account(), r.got(), *s.service.log, 9);
  REQUIRE(r.how());
  REQUIRE(s.c.quiet());
}

TEST_CASE("a subset streams, and its members keep their ranks", "[streams]") {
  served s(9, knomial{2}, 4);
  const rank_set some{1, 4, 6, 8};
  reading r(s.c, s.g.only(some), {5, 100});
  r.land();
  REQUIRE(r.how());
  CHECK(r.got().size() == 4);
  for (const auto& [rank, items] : r.got()) CHECK(some.contains(rank));
  CHECK(r.account().count(member_state::excluded) == 5);
}

TEST_CASE("a plain broadcast has no stream, and sends no part", "[streams]") {
  virtual_cluster c(8);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, chain{});
  REQUIRE(c.bcast(g, {}).ok());
  CHECK(parts_sent(c) == 0);
}
