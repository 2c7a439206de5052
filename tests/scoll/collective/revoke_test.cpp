#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "outsider.hpp"
#include "probe.hpp"
#include "scoll/collective/binomial_graph.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/tree/any_tree.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr std::uint32_t stale_epoch = 77;

/// N probes and a group of all of them, made by the first.
struct revoked_group {
  explicit revoked_group(std::uint32_t size, tree_spec tree = knomial{2}, const node_options& base = {})
      : c(size, base) {
    c.serve(service);
    g = c.make_group<probe>(0, tree);
    c.bcast(g, {}).ignore();  // the connections of the tree are there, and no member is tentative
    service.log->clear();
  }

  /// The group as member `i` holds it.
  group<probe> at(std::uint32_t i) { return c[i].find_group<probe>(g.id()).value(); }
  bool knows(std::uint32_t i) {
    const auto state = c.engine(i).find_group(g.id());
    return state != nullptr && state->revoked != nullptr;
  }
  std::uint32_t knowing() {
    std::uint32_t count = 0;
    for (std::uint32_t i = 0; i < c.size(); ++i) count += c.alive(i) && knows(i);
    return count;
  }
  result<revoke_report> revoke(std::uint32_t by, std::uint32_t reason = stale_epoch,
                               std::string_view text = "plan B") {
    return c.run(at(by).revoke(reason, text));
  }
  std::uint64_t notices() {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < c.size(); ++i) sum += c[i].wire().statistics().notices_sent;
    return sum;
  }

  probe service;
  virtual_cluster c;
  group<probe> g;
};

}  // namespace

TEST_CASE("a revoke reaches every member, and nothing of the group begins any more", "[revoke]") {
  const std::uint32_t n = GENERATE(2U, 3U, 7U, 16U);
  revoked_group r(n);
  const std::uint32_t by = GENERATE(0U, 1U);
  const auto report = r.revoke(by);
  REQUIRE(report);
  CHECK(report->emitted >= detail::binomial_degree(n));
  CHECK(report->connecting == 0);
  CHECK(report->owed == 0);
  r.c.ex.run_for(1s);
  CHECK(r.knowing() == n);
  // Each tells its neighbours and its children in the tree, but not the one that it heard it from.
  CHECK(r.notices() <= (std::uint64_t{detail::binomial_degree(n)} + 1) * n);
  CHECK(r.c.engine(0).statistics().revoked == 1);
  for (std::uint32_t i = 0; i < n; ++i) {
    const auto refused = r.c.bcast(r.at(i), {});
    CHECK(refused.error() == errc::revoked);
    CHECK(refused.error().detail() == static_cast<int>(stale_epoch));
    CHECK(refused.error().text() ==
          "node " + std::to_string(by + 1) + " has revoked the group, reason 77: plan B");
    CHECK(refused.outcome().count(member_state::not_reached) == n);
  }
  CHECK(r.service.log->executed.empty());
  CHECK(r.c.quiet());
}

TEST_CASE("who hears of a revoke tells its children first, gives way, and then tells the others",
          "[revoke]") {
  constexpr std::uint32_t n = 16;
  const tree_spec spec = node_options().revoke_tree;
  revoked_group r(n, spec);
  const any_tree tree = any_tree::resolve(spec, n).value();
  const auto sent_by = [&](std::uint32_t i) { return r.c[i].wire().statistics().notices_sent; };
  std::size_t times = 0;
  std::array<bool, n> told_children_alone{};
  r.c.ex.when_giving_way = [&] {
    ++times;
    for (std::uint32_t i = 1; i < n; ++i)
      told_children_alone[i] = told_children_alone[i] || (r.knows(i) && sent_by(i) == tree.fan_out(n, i));
  };
  REQUIRE(r.revoke(0));
  r.c.ex.run_for(1s);
  CHECK(times == n - 1);  // the node that has revoked the group goes on at once
  for (std::uint32_t i = 1; i < n; ++i) {
    CHECK(told_children_alone[i]);
    CHECK(sent_by(i) > tree.fan_out(n, i));
  }
}

TEST_CASE("a group is revoked once, and the first reason stands", "[revoke]") {
  revoked_group r(5);
  REQUIRE(r.revoke(1, 1, "first"));
  r.c.ex.run_for(1s);
  const auto sent = r.notices();
  REQUIRE(r.revoke(2, 2, "second"));
  r.c.ex.run_for(1s);
  CHECK(r.notices() == sent);
  for (std::uint32_t i = 0; i < 5; ++i) CHECK(r.c.bcast(r.at(i), {}).error().detail() == 1);
}

TEST_CASE("two members revoke at once, and every member has one of the reasons", "[revoke]") {
  revoked_group r(16);
  scope both(r.c.ex);
  const auto go = [](group<probe> g, std::uint32_t reason) -> task<> {
    const auto done = co_await g.revoke(reason);
    CHECK(done);
  };
  both.spawn(go(r.at(3), 3));
  both.spawn(go(r.at(12), 12));
  r.c.ex.run_for(1s);
  CHECK(r.knowing() == 16);
  CHECK(r.c.bcast(r.at(3), {}).error().detail() == 3);
  CHECK(r.c.bcast(r.at(12), {}).error().detail() == 12);
  r.c.run([](scope& s) -> task<> { co_await s.join(); }(both));
}

TEST_CASE("a revoke ends what runs in its group, and nothing else", "[revoke]") {
  revoked_group r(7);
  const auto other = r.c.make_group<probe>(1, knomial{2});
  r.service.log->usual = 500ms;
  flight running(r.c, r.g, {});
  flight subset(r.c, r.at(4).only(rank_set{3} | rank_set{4} | rank_set{6}), {});
  flight beside(r.c, other, {});
  r.c.ex.run_for(100ms);
  const time_point revoked = r.c.ex.now();
  REQUIRE(r.revoke(5));
  auto& ended = running.land();
  CHECK(ended.error() == errc::revoked);
  CHECK(r.c.ex.now() - revoked < 5ms);
  CHECK(subset.land().error() == errc::revoked);
  CHECK(beside.land().ok());
  CHECK(r.service.log->stopped.size() == 7);
  CHECK(r.c.quiet());
}

TEST_CASE("a broadcast that waits for the gossip of its node ends with the revoke of its group", "[revoke]") {
  revoked_group r(4);
  r.c.engine(0).holding().hold();
  flight waiting(r.c, r.g, {});
  r.c.ex.run_for(10ms);
  REQUIRE(r.revoke(3));
  const auto& ended = waiting.land();
  CHECK(ended.error() == errc::revoked);
  CHECK(ended.error().text() == "node 4 has revoked the group, reason 77: plan B");
  CHECK(ended.outcome().count(member_state::not_reached) == 4);
  r.c.engine(0).holding().release();
  CHECK(r.service.log->executed.empty());
  CHECK(r.c.quiet());
}

TEST_CASE("a root that awaits a deaf member ends at once, and its answer says what is unknown", "[revoke]") {
  revoked_group r(4, flat{});
  r.service.log->stuck = {2};
  flight running(r.c, r.g, {});
  r.c.ex.run_for(100ms);
  const time_point revoked = r.c.ex.now();
  REQUIRE(r.revoke(3));
  const auto& ended = running.land();
  CHECK(r.c.ex.now() - revoked < 2ms);
  CHECK(ended.error() == errc::revoked);
  CHECK(ended.outcome().state(1) == member_state::merged);
  CHECK(ended.outcome().state(2) == member_state::unknown);
  CHECK(ended.outcome().why(2).what == errc::revoked);
  r.service.log->release.set();
  CHECK(r.c.quiet());
}

TEST_CASE("the initiator may die as soon as its notices have left", "[revoke]") {
  for (const std::uint32_t n : {3U, 8U, 13U}) {
    revoked_group r(n);
    REQUIRE(r.revoke(1));
    r.c.kill(1);
    r.c.ex.run_for(100ms);
    CHECK(r.knowing() == n);
  }
}

TEST_CASE("as many may be dead as the graph bears, though nobody knows of them", "[revoke]") {
  constexpr std::uint32_t n = 12;
  revoked_group r(n);
  const auto neighbours = detail::binomial_graph(n, {}).neighbours(0);
  REQUIRE(neighbours.size() == 6);
  // All neighbours of the initiator but one.
  for (std::size_t i = 0; i + 1 < neighbours.size(); ++i) r.c.kill(neighbours.begin()[i]);
  r.c.ex.run_for(1ms);
  const time_point begun = r.c.ex.now();
  const auto report = r.revoke(0);
  REQUIRE(report);
  CHECK(r.c.ex.now() - begun == 5ms);  // it does not wait for connections to the dead
  CHECK(report->emitted >= 1);
  CHECK(report->connecting >= 5);
  r.c.ex.run_for(100ms);
  for (std::uint32_t i = 0; i < n; ++i) {
    INFO(i);
    CHECK(r.knows(i) == !(neighbours.contains(i) && i != neighbours.begin()[5]));
  }
}

TEST_CASE("known deaths are passed over, and owed if the verdict was wrong", "[revoke]") {
  revoked_group r(8);
  constexpr std::uint32_t x = 5;
  // Everybody holds a member dead that lives.
  for (std::uint32_t i = 0; i < 8; ++i) {
    if (i != x) r.c[i].on_dead(x + 1, 1);
  }
  r.c.ex.run_for(2s);
  const auto report = r.revoke(1);
  REQUIRE(report);
  CHECK(report->owed == 1);  // rank 5 is four steps away
  CHECK(report->connecting == 0);
  r.c.ex.run_for(2s);
  CHECK_FALSE(r.knows(x));
  CHECK(r.knowing() == 7);
  SECTION("it is told when it is heard of alive") {
    r.c[1].on_alive(x + 1, 1);
    r.c.ex.run_for(10ms);
    CHECK(r.knows(x));
  }
  SECTION("not when a later life of it is") {
    const auto sent = r.notices();
    for (std::uint32_t i = 0; i < 8; ++i) r.c[i].on_alive(x + 1, 2);
    r.c.ex.run_for(2s);
    CHECK(r.notices() == sent);
  }
  SECTION("or when it makes contact by itself") {
    const auto asked = r.c.bcast(r.at(x), {}, {.deadline = 1s});
    CHECK_FALSE(asked.ok());
    CHECK(r.knows(x));
    CHECK(r.service.log->executed.size() == 1);  // itself alone
    r.c.ex.run_for(1s);
    CHECK(r.knows(x));
  }
}

TEST_CASE("a notice that its session has lost is owed, and paid at the next contact", "[revoke]") {
  node_options base;
  base.link.reconnect_grace = 100ms;
  revoked_group r(2, flat{}, base);
  r.c.network.refuse(0, 1);
  r.c.network.refuse(1, 0);
  r.c.network.cut(0, 1);
  r.c.ex.run_for(1ms);
  const auto report = r.revoke(0);
  REQUIRE(report);
  CHECK(report->connecting == 1);
  r.c.ex.run_for(1s);
  CHECK_FALSE(r.knows(1));
  r.c.revive(0);
  r.c.ex.run_for(1s);
  CHECK_FALSE(r.knows(1));  // nobody has contact
  SECTION("of the member") {
    CHECK(r.c.bcast(r.at(1), {}, {.deadline = 1s}).error() == errc::revoked);
  }
  SECTION("of this node, for another reason") {
    const auto other = r.c.make_group<probe>(0, flat{});
    CHECK(r.c.bcast(other, {}).ok());
  }
  r.c.ex.run_for(10ms);
  CHECK(r.knows(1));
}

TEST_CASE("a revoke that comes before the creation refuses it, and goes on from there", "[revoke]") {
  probe service;
  virtual_cluster c(9);
  c.serve(service);
  // The creation goes along a chain, and its last hop is slow. One of the last member's neighbours is slower.
  c.network.path(7, 8).model = testing::sim_link_model::ideal(60ms);
  c.network.path(0, 8).model = testing::sim_link_model::ideal(400ms);
  group_options options;
  options.tree = chain{};
  std::optional<result<group<probe>>> made;
  scope work(c.ex);
  work.spawn([](cluster& on, group_options how, auto& into) -> task<> {
    auto g = co_await on[0].create_group<probe>(on.targets(), how);
    into.emplace(std::move(g));
  }(c, options, made));
  c.ex.run_for(10ms);
  REQUIRE_FALSE(made);
  group_id id;
  c.engine(1).each_group([&](const detail::group_state& g) { id = g.id; });
  auto early = c[1].find_group<probe>(id);
  REQUIRE(early);
  REQUIRE(c.run(early->revoke(3, "too early")));
  c.ex.run_for(20s);
  REQUIRE(made);
  REQUIRE_FALSE(*made);
  CHECK(made->error() == errc::revoked);
  CHECK(c.engine(8).find_group(id) == nullptr);
  // It has told those that had not told it by then.
  CHECK(c[8].wire().statistics().notices_sent > 0);
  c.run([](scope& s) -> task<> { co_await s.join(); }(work));
  CHECK(c.quiet());
}

TEST_CASE("a revoke of a group that has ended is ignored", "[revoke]") {
  revoked_group r(4);
  const auto mine = r.at(2);
  REQUIRE(r.c.run(r.c[0].destroy(r.g)));
  const auto late = r.c.run(mine.revoke(1));
  REQUIRE_FALSE(late);
  CHECK(late.error() == errc::unknown_group);
  const auto empty = r.c.run(group<probe>().revoke(1));
  REQUIRE_FALSE(empty);
  CHECK(empty.error() == errc::invalid_argument);
}

TEST_CASE("a revoked group is destroyed as any other", "[revoke]") {
  revoked_group r(7);
  REQUIRE(r.revoke(3));
  r.c.ex.run_for(10ms);
  REQUIRE(r.c.run(r.c[0].destroy(r.g)));
  for (std::uint32_t i = 0; i < 7; ++i) CHECK(r.c.engine(i).groups() == 0);
  CHECK(r.c.quiet());
}

TEST_CASE("a node that has a thousand notices waiting tells the others when there is room", "[revoke]") {
  constexpr std::uint32_t n = 6, groups = 300;
  probe service;
  virtual_cluster c(n);
  c.serve(service);
  std::vector<group<probe>> all;
  for (std::uint32_t k = 0; k < groups; ++k) all.push_back(c.make_group<probe>(0, flat{}));
  for (std::uint32_t i = 1; i < n; ++i) {
    c.network.refuse(0, i);
    c.network.refuse(i, 0);
    c.network.cut(0, i);
  }
  c.ex.run_for(1ms);
  scope revokes(c.ex);
  for (auto& g : all) {
    revokes.spawn([](group<probe> mine) -> task<> {
      const auto told = co_await mine.revoke(9);
      CHECK(told);
    }(g));
  }
  c.ex.run_for(1ms);  // 1,500 notices
  CHECK(c[0].wire().notices_queued() == 1024);
  c.revive(0);
  c.ex.run_for(2s);
  CHECK(c[0].wire().notices_queued() == 0);
  std::size_t knowing = 0;
  for (std::uint32_t i = 0; i < n; ++i)
    c.engine(i).each_group([&](const detail::group_state& g) { knowing += g.revoked != nullptr; });
  CHECK(knowing == n * groups);
  c.run([](scope& s) -> task<> { co_await s.join(); }(revokes));
  CHECK(c.quiet());
}

TEST_CASE("a member that cannot be reached leaves the others room for their notices", "[revoke]") {
  constexpr std::uint32_t n = 4, groups = 1500;
  probe service;
  virtual_cluster c(n);
  c.serve(service);
  std::vector<group<probe>> all;
  for (std::uint32_t k = 0; k < groups; ++k) all.push_back(c.make_group<probe>(0, flat{}));
  const auto knowing = [&] {
    std::size_t sum = 0;
    for (std::uint32_t i = 0; i < n; ++i)
      c.engine(i).each_group([&](const detail::group_state& g) { sum += g.revoked != nullptr; });
    return sum;
  };
  for (std::uint32_t i = 0; i + 1 < n; ++i) {
    c.network.refuse(i, n - 1);
    c.network.refuse(n - 1, i);
    c.network.cut(i, n - 1);
  }
  c.ex.run_for(1ms);
  scope revokes(c.ex);
  for (auto& g : all) {
    revokes.spawn([](group<probe> mine) -> task<> {
      const auto told = co_await mine.revoke(9);
      CHECK(told);
    }(g));
  }
  c.ex.run_for(100ms);
  CHECK(knowing() == (n - 1) * groups);
  CHECK(c[0].wire().notices_queued() == 256);
  c.revive(n - 1);
  c.ex.run_for(2s);
  CHECK(knowing() == n * groups);
  c.run([](scope& s) -> task<> { co_await s.join(); }(revokes));
  CHECK(c.quiet());
}

TEST_CASE("the text is cut between characters, and shown without what is not printable", "[revoke]") {
  revoked_group r(2);
  std::string text(63, 'x');
  text += "\xc3\xa9 and more";
  REQUIRE(r.revoke(0, 1, text));
  r.c.ex.run_for(10ms);
  CHECK(std::string(r.c.bcast(r.at(1), {}).error().text()).ends_with(std::string(51, 'x') + "..."));
  detail::notice_head notice;
  notice.say(text);
  CHECK(notice.words() == std::string(63, 'x'));
  notice.say("a\x1b[31m");
  CHECK(detail::notice_head(notice).words() == "a\x1b[31m");
}

TEST_CASE("notices that make no sense are counted and dropped", "[revoke]") {
  revoked_group r(3);
  outsider stranger(r.c, 9, 3);
  r.c[0].add_peer(9, testing::sim_network::address_of(3)).value();
  struct silent final : transport::emission {
    silent() : emission([](emission&, transport::notice_state, const error&) noexcept {}) {}
  } ticket;
  const auto send = [&](const detail::notice_head& notice, std::size_t bytes = 159) {
    transport::message& m = stranger.wire().acquire_message();
    const auto before = r.c[0].wire().statistics().notices_dropped;
    static_cast<void>(wire::encode_to(m.head_space(), notice));
    m.set_head_bytes(bytes);
    ticket.forget();
    REQUIRE(stranger.wire().find(1)->notify(m, ticket));
    r.c.ex.run_for(5ms);
    return r.c[0].wire().statistics().notices_dropped == before + 1;
  };
  detail::notice_head notice;
  notice.group = r.g.id();
  notice.by = 2;
  notice.initiator = 1;
  CHECK(send(notice));  // from a node that is no member
  CHECK(send(notice, 158));
  CHECK(send(notice, 160));
  auto wrong = notice;
  wrong.kind = 7;
  CHECK(send(wrong));
  wrong = notice;
  wrong.ends_with = 2;
  CHECK(send(wrong));
  CHECK(r.knowing() == 0);
  // One about a group that is not known is kept, in a bounded place.
  notice.group.creator = 2;
  notice.group.incarnation = 1;
  for (std::uint64_t k = 100; k < 3000; ++k) {
    notice.group.counter = k;
    transport::message& m = stranger.wire().acquire_message();
    m.set_head_bytes(*wire::encode_to(m.head_space(), notice));
    ticket.forget();
    REQUIRE(stranger.wire().find(1)->notify(m, ticket));
    if (k % 100 == 0) r.c.ex.run_for(1ms);
  }
  r.c.ex.run_for(10ms);
  CHECK(r.c.bcast(r.g, {}).ok());
}
