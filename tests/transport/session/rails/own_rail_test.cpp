#include "transport/session/rails/own_rail.hpp"

#include "rail_nodes.hpp"
#include "tests/support/build.hpp"

// The verdict that one of a node's own rails is dead.
using namespace network;

namespace {

constexpr time_point start{100s};

constexpr nanoseconds patience = 100ms;

/// `peers` lose the rail, each a tenth of a second after the one before. True if it is in doubt then.
bool lost_by(own_rail& rail, node_id peers, bool all_of_two, nanoseconds step = 100ms) {
  for (node_id peer = 1; peer <= peers; ++peer) {
    const time_point now = start + (peer - 1) * step;
    rail.lost(peer, now - 50ms, now, [&] { return all_of_two; });
  }
  CHECK_FALSE(rail.dead());
  return rail.in_doubt();
}

/// Node 1 and some peers, which know each other by two rails.
struct star {
  star(rails_world& on, node_id count) : w(on) {
    for (node_id id = 1; id <= count; ++id) nodes.emplace_back(w, options_of(id));
    for (node_id id = 2; id <= count; ++id) {
      nodes[0].knows(id);
      nodes[id - 1].knows(1);
    }
    nodes[0].in.news = [this](const rail_news& each) { news.push_back(each); };
  }
  /// Node 1 calls all peers up to a node again and again for a time. All calls must be answered.
  void traffic(nanoseconds time, node_id last) {
    const nanoseconds end = w.now() + time;
    while (w.now() < end) {
      std::deque<call> calls(last - 1);
      for (node_id id = 2; id <= last; ++id) {
        call& c = calls[id - 2];
        c.number = ++numbers;
        c.want_bytes = 8;
        message& m = compose(*nodes[0].ep, {c.number, 8, 1}, 8);
        REQUIRE(nodes[0].to(id).request(c, traffic_class::call, m, c.capacity).has_value());
      }
      REQUIRE(w.until([&] { return std::ranges::all_of(calls, [](call& c) { return c.ends == 1; }); }));
      for (call& c : calls) CHECK(c.answered());
      w.pass(1ms);
    }
  }

  rails_world& w;
  std::deque<rail_node> nodes;
  std::vector<rail_news> news;
  std::uint64_t numbers = 0;
};

}  // namespace

TEST_CASE("a rail is dead when three peers have lost it within a second, and no other peer answers") {
  own_rail rail;
  CHECK_FALSE(lost_by(rail, 2, false));
  CHECK_FALSE(rail.settle(start + 10s, patience));
  CHECK(lost_by(rail, 3, false));
  CHECK(rail.lost_by() == 3);
  CHECK_FALSE(rail.settle(start + 200ms + patience - 1ns, patience));
  SECTION("no other one") {
    CHECK(rail.settle(start + 200ms + patience, patience));
    CHECK(rail.dead());
    CHECK_FALSE(rail.settle(start + 10s, patience));
  }
  SECTION("what left before the losses is no answer") {
    CHECK_FALSE(rail.answered(start + 150ms));
    CHECK(rail.settle(start + 200ms + patience, patience));
  }
  SECTION("another one") {
    CHECK_FALSE(rail.answered(start + 200ms));
    CHECK_FALSE(rail.in_doubt());
    CHECK_FALSE(rail.settle(start + 10s, patience));
  }
}

TEST_CASE("a rail that only two peers use is dead when both have lost it") {
  own_rail rail;
  CHECK_FALSE(lost_by(rail, 1, true));
  CHECK(lost_by(rail, 2, true));
  CHECK(rail.lost_by() == 2);
}

TEST_CASE("losses of one peer, or far apart, are no verdict") {
  own_rail rail;
  for (int i = 0; i < 9; ++i) rail.lost(7, start, start + i * 10ms, [] { return true; });
  CHECK_FALSE(rail.in_doubt());
  own_rail slow;
  CHECK_FALSE(lost_by(slow, 9, true, 1001ms));
  own_rail in_time;
  CHECK(lost_by(in_time, 3, false, 500ms));
}

TEST_CASE("a rail over which another peer has answered since is not in doubt") {
  own_rail rail;
  rail.answered(start + 160ms);  // the last loss began at 150 ms
  CHECK_FALSE(lost_by(rail, 3, false));
  own_rail silent;
  silent.answered(start + 140ms);
  CHECK(lost_by(silent, 3, false));
}

TEST_CASE("a dead rail is tried by one peer at a time, after pauses that grow to two seconds") {
  own_rail rail;
  time_point now = start;
  CHECK(rail.turn(now) == 0ns);
  CHECK(rail.turn(now) == 0ns);
  REQUIRE(lost_by(rail, 3, false));
  CHECK(rail.turn(now) == 0ns);
  REQUIRE(rail.settle(start + 300ms, patience));
  now = start + 300ms;
  nanoseconds expected = own_rail::first_pause;
  for (int i = 0; i < 6; ++i) {
    CHECK(rail.turn(now) == 0ns);
    CHECK(rail.turn(now) == expected);
    CHECK(rail.turn(now + 50ms) == expected - 50ms);
    now += expected;
    expected = std::min(2 * expected, own_rail::longest_pause);
  }
  CHECK(expected == own_rail::longest_pause);
  CHECK_FALSE(rail.answered(start));  // what left before the verdict proves nothing
  CHECK(rail.dead());
  CHECK(rail.answered(now));
  CHECK_FALSE(rail.dead());
  CHECK_FALSE(rail.answered(now + 1s));
  CHECK(rail.turn(now) == 0ns);
  rail.lost(1, now + 2s, now + 2s, [] { return true; });
  CHECK_FALSE(rail.in_doubt());
}

TEST_CASE("a node whose own rail dies says so once, tries it seldom, and says when it is alive again") {
  const node_id last = GENERATE(node_id{3}, node_id{7});
  const bool silent = GENERATE(true, false);
  if (scoll::test::slow_build && last == 7 && !silent) return;
  INFO(last - 1 << " peers, " << (silent ? "silent" : "refused"));
  rails_world w(2);
  star s(w, last);
  s.traffic(1s, last);
  CHECK(s.news.empty());
  if (silent) {
    w.block(1, 0, w.now() + 1000s);
  } else {
    w.refuse(1, 0, true);
    w.cut(1, 0);
  }
  s.traffic(2s, last);
  REQUIRE(s.news.size() == 1);
  CHECK(s.news[0].dead);
  CHECK(s.news[0].rail == 0);
  CHECK(s.news[0].peers == std::min<std::size_t>(last - 1, 3));
  CHECK(s.nodes[0].counts().rail_deaths == 1);
  CHECK(s.nodes[0].ep->verdict_on(0)->dead());
  CHECK_FALSE(s.nodes[0].ep->verdict_on(1)->dead());
  for (node_id id = 2; id <= last; ++id) CHECK(s.nodes[id - 1].counts().rail_deaths == 0);

  const std::uint64_t tried = s.nodes[0].attempts(0);
  s.traffic(20s, last);
  // Straight and crossed paths are tried; the pauses have grown to two seconds.
  CHECK(s.nodes[0].attempts(0) - tried <= 12);
  CHECK(s.nodes[0].attempts(0) - tried >= 9);
  CHECK(s.news.size() == 1);

  silent ? w.block(1, 0, 0ns) : w.refuse(1, 0, false);
  const time_point back = w.clock.now();
  while (s.news.size() == 1 && w.clock.now() - back < 10s) s.traffic(10ms, last);
  REQUIRE(s.news.size() == 2);
  CHECK_FALSE(s.news[1].dead);
  CHECK(w.clock.now() - back <= own_rail::longest_pause + 100ms);
  s.traffic(300ms, last);
  for (node_id id = 2; id <= last; ++id) CHECK(s.nodes[0].to(id).connected_by(traffic_class::call, {0, 0}));
  s.traffic(5s, last);
  for (node_id id = 2; id <= last; ++id) CHECK(s.nodes[0].to(id).path_of(traffic_class::call) == path_key{});
  CHECK(s.news.size() == 2);
}

TEST_CASE("rails of peers that die are no verdict on a node's own") {
  rails_world w(2);
  star s(w, 7);
  s.traffic(1s, 7);
  for (node_id id = 2; id <= 4; ++id) w.block(id, 0, w.now() + 1000s);
  s.traffic(5s, 7);
  CHECK(s.nodes[0].counts().path_deaths >= 3);
  CHECK(s.news.empty());
}

TEST_CASE("peers that crash together are no verdict on a node's own rail") {
  rails_world w(2);
  star s(w, 5);
  s.traffic(1s, 5);
  for (node_id id = 2; id <= 5; ++id) {
    w.refuse(id, 0, true);
    w.refuse(id, 1, true);
    w.cut(id, 0);
    w.cut(id, 1);
  }
  w.pass(5s);
  CHECK(s.news.empty());
}
