#include "rail_nodes.hpp"

// A peer with several rails: standing by, moving, cutting, coming back.
using namespace network;

namespace {
constexpr path_key straight_a{0, 0};
constexpr path_key straight_b{1, 1};
}  // namespace

TEST_CASE("calls go by the first rail, and another one stands by") {
  rails_world w(2);
  rail_pair p(w);
  p.exchange_calls();
  CHECK(p.path(1) == straight_a);
  CHECK(p.path(2) == straight_a);
  p.traffic(1s);
  for (node_id n : {node_id{1}, node_id{2}}) {
    CHECK(p.node(n).to(3 - n).connected_by(traffic_class::call, straight_b));
    CHECK(p.node(n).open(0) == 1);
    CHECK(p.node(n).open(1) == 1);
    CHECK(p.node(n).counts().path_moves == 0);
    CHECK(p.node(n).counts().replays == 0);
    CHECK(p.node(n).counts().duplicates == 0);
    CHECK(p.node(n).counts().link_downs_sent == 0);
  }
  p.check_clean();
}

TEST_CASE("a rail that falls silent is left within 250 ms, and nothing is lost") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  const bool out = GENERATE(true, false);
  const bool in = GENERATE(true, false);
  if (!out && !in) return;
  w.block(1, 0, w.now() + 100s, out, in);
  const nanoseconds longest = p.traffic(3s);
  CHECK(longest <= 250ms);
  CHECK(p.path(1) == straight_b);
  CHECK(p.path(2) == straight_b);
  p.check_clean();
  CHECK(p.left.counts().path_moves + p.right.counts().path_moves >= 1);
  CHECK(p.health(1, straight_a).health() == path_health::dead);
  CHECK(p.health(2, straight_a).health() == path_health::dead);
  SECTION("and comes back when it has proven itself") {
    w.block(1, 0, 0ns);
    p.traffic(15s);
    CHECK(p.path(1) == straight_a);
    CHECK(p.path(2) == straight_a);
    CHECK(p.health(1, straight_a).health() == path_health::good);
    p.check_clean();
  }
}

TEST_CASE("a rail whose connections are reset is left at once") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  w.refuse(1, 0, true);
  w.cut(1, 0);
  CHECK(p.traffic(3s) <= 50ms);
  CHECK(p.path(1) == straight_b);
  CHECK(p.path(2) == straight_b);
  p.check_clean();
  w.refuse(1, 0, false);
  p.traffic(15s);
  CHECK(p.path(1) == straight_a);
  p.check_clean();
}

TEST_CASE("a path that is back proves itself though nothing is asked of the peer, and is then left alone") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  w.block(1, 0, w.now() + 100s);
  p.traffic(3s);
  REQUIRE(p.health(1, straight_a).health() == path_health::dead);
  REQUIRE(p.health(2, straight_a).health() == path_health::dead);
  w.block(1, 0, 0ns);
  w.pass(15s);
  for (node_id n : {node_id{1}, node_id{2}}) {
    CHECK(p.health(n, straight_a).health() == path_health::good);
    CHECK(p.path(n) == straight_a);
  }
  p.check_clean();
  const auto probes = [&] { return p.left.counts().probes_sent + p.right.counts().probes_sent; };
  const std::uint64_t sent = probes();
  w.pass(120s);
  CHECK(probes() == sent);
}

TEST_CASE("a path with a long proof proves itself without traffic, too") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  for (int deaths = 0; deaths < 7; ++deaths) {
    w.cut(1, 0);
    REQUIRE(w.until([&] {
      p.traffic(10ms);
      return p.health(1, straight_a).health() == path_health::proving;
    }));
    p.traffic(path::first_pause);  // what ends at once was not back
  }
  REQUIRE(p.health(1, straight_a).proof() == path::longest_proof);
  w.pass(path::longest_proof + 1s);
  CHECK(p.health(1, straight_a).health() == path_health::good);
  CHECK(p.health(2, straight_a).health() == path_health::good);
  p.check_clean();
}

TEST_CASE("a peer that stands still loses no path") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  for (int i = 0; i < 10; ++i) {
    for (std::size_t r : {0U, 1U}) w.net.freeze(rails_world::place(2, r));
    call c;
    REQUIRE(p.start(c, p.left, 2).has_value());
    w.pass(3s);
    CHECK(c.ends == 0);
    for (std::size_t r : {0U, 1U}) w.net.thaw(rails_world::place(2, r));
    REQUIRE(w.until([&] { return c.answered(); }));
    w.pass(500ms);
  }
  for (rail_node* n : {&p.left, &p.right}) {
    CHECK(n->counts().path_moves == 0);
    CHECK(n->counts().path_suspicions == 0);
    CHECK(n->counts().path_deaths == 0);
  }
  p.check_clean();
}

TEST_CASE("bulk goes by another rail when its own falls silent") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms, traffic_class::bulk);
  CHECK(p.path(1, traffic_class::bulk) == straight_a);
  w.block(1, 0, w.now() + 100s);
  CHECK(p.traffic(5s, traffic_class::bulk) <= 500ms);
  CHECK(p.path(1, traffic_class::bulk) == straight_b);
  p.check_clean();
  w.block(1, 0, 0ns);
  p.traffic(30s, traffic_class::bulk);
  CHECK(p.path(1, traffic_class::bulk) == straight_a);
  p.check_clean();
}

TEST_CASE("bulk is tried anew within its grace, however much round trips vary") {
  rails_world w(2);
  w.net.common_path().model.jitter = 100ms;
  rail_pair p(w);
  p.traffic(5s);
  p.traffic(1s, traffic_class::bulk);
  for (rail_node* n : {&p.left, &p.right}) n->let_hang(1);
  w.cut(1, 0);
  call c;
  REQUIRE(p.start(c, p.left, 2, traffic_class::bulk).has_value());
  REQUIRE(w.until([&] { return c.ends != 0; }));
  CHECK(c.answered());
  CHECK(p.left.counts().bulk_lost == 0);
  p.check_clean();
}

TEST_CASE("the grace of class bulk does not run while the peer stands still") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms, traffic_class::bulk);
  w.cut(1, 0);  // control goes on by the other rail, and bulk connects anew
  for (std::size_t r : {0U, 1U}) w.net.freeze(rails_world::place(2, r));
  call c;
  REQUIRE(p.start(c, p.left, 2, traffic_class::bulk).has_value());
  w.pass(5s);
  CHECK(c.ends == 0);
  for (std::size_t r : {0U, 1U}) w.net.thaw(rails_world::place(2, r));
  REQUIRE(w.until([&] { return c.answered(); }));
  p.check_clean();
}

TEST_CASE("bulk goes by a rail that still proves itself rather than by two networks that are not joined") {
  rails_world w(2);
  w.refuse_crossed(1, 2);
  rail_pair p(w);
  p.traffic(500ms, traffic_class::bulk);
  w.block(1, 0, w.now() + 100s);
  p.traffic(3s, traffic_class::bulk);
  w.block(1, 0, 0ns);
  const auto proves = [&](node_id n) { return p.health(n, straight_a).health() == path_health::proving; };
  REQUIRE(w.until([&] {
    p.traffic(10ms);
    return proves(1) && proves(2);
  }));
  w.block(1, 1, w.now() + 100s);
  CHECK(p.traffic(3s, traffic_class::bulk) <= 500ms);
  CHECK(p.path(1, traffic_class::bulk) == straight_a);
  p.check_clean();
}

TEST_CASE("a rail that is back is tried at once when the only connected one falls silent") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  w.block(1, 0, w.now() + 1000s);
  p.traffic(40s);  // by now it is tried every ten seconds
  w.block(1, 0, 0ns);
  w.block(1, 1, w.now() + 100s);
  CHECK(p.traffic(5s) <= 2s);
  CHECK(p.path(1) == straight_a);
  CHECK(p.path(2) == straight_a);
  p.check_clean();
}

TEST_CASE("a rail that has no connection yet is tried when all connected ones fall silent") {
  rails_world w(3);
  rail_pair p(w);
  p.traffic(1s);
  constexpr path_key third{2, 2};
  CHECK_FALSE(p.left.to(2).connected_by(traffic_class::call, third));
  w.block(1, 0, w.now() + 1000s);
  w.block(1, 1, w.now() + 1000s);
  const traffic_class klass = GENERATE(traffic_class::call, traffic_class::bulk);
  CHECK(p.traffic(5s, klass) <= 2s);
  CHECK(p.path(1) == third);
  CHECK(p.path(2) == third);
  CHECK(p.traffic(1s) <= 250ms);
  p.check_clean();
}

TEST_CASE("a rail that is dead from the start costs a step, and no session") {
  rails_world w(2);
  w.block(2, 0, 1000s);
  rail_pair p(w);
  CHECK(p.traffic(5s) <= 250ms);
  CHECK(p.path(1) == straight_b);
  p.check_clean();
}

TEST_CASE("an attempt that hangs, for a call that was given up, keeps no later call waiting") {
  rails_world w(2);
  w.block(2, 0, 1000s);
  rail_pair p(w);
  call given_up;
  REQUIRE(p.start(given_up, p.left, 2).has_value());
  w.pass(50ms);
  given_up.cancel();
  w.pass(500ms);
  call later;
  const nanoseconds began = w.now();
  REQUIRE(p.start(later, p.left, 2).has_value());
  REQUIRE(w.until([&] { return later.ends == 1; }, 30s));
  CHECK(later.answered());
  CHECK(w.now() - began <= 250ms);
}

TEST_CASE("both rails dead end the session after the limit, and the text names the peer") {
  rails_world w(2);
  rail_pair p(w);
  p.traffic(500ms);
  w.block(1, 0, w.now() + 1000s);
  w.block(1, 1, w.now() + 1000s);
  call c;
  REQUIRE(p.start(c, p.left, 2).has_value());
  const nanoseconds began = w.now();
  REQUIRE(w.until([&] { return c.ends == 1; }, 60s));
  CHECK(c.outcome == errc::connection_lost);
  CHECK(w.now() - began <= 15s);
  CHECK(p.left.counts().path_moves == 0);
}

TEST_CASE("a rail may die after any frame, and nothing is lost") {
  const auto klass = GENERATE(traffic_class::call, traffic_class::bulk);
  const bool silent = GENERATE(true, false);
  for (std::uint32_t frames = 1; frames <= 60; ++frames) {
    INFO(frames << " frames");
    rails_world w(2);
    rail_pair p(w);
    const std::uint32_t here = rails_world::place(1, 0);
    const std::uint32_t there = rails_world::place(2, 0);
    w.net.path(here, there).cut_after = frames;
    nanoseconds longest{0};
    for (int i = 0; i < 60; ++i) {
      longest = std::max(longest, p.exchange_calls(klass));
      if (silent && w.net.path(here, there).cut_after == 0) w.block(1, 0, 1000s);
    }
    REQUIRE(w.net.path(here, there).cut_after == 0);
    CHECK(longest <= (klass == traffic_class::call ? 250ms : 500ms));
    p.check_clean();
    if (silent) CHECK(p.path(1, klass) == straight_b);
  }
}

TEST_CASE("bulk data go back to a good rail that they have left before they try paths that nobody has used") {
  rails_world w(3);
  w.for_bulk = {0, 1};
  rail_pair p(w);
  const auto each_preferred = [](auto&& fault) {
    for (const node_id n : {node_id{1}, node_id{2}}) {
      for (const std::size_t r : {0U, 1U}) fault(n, r);
    }
  };
  each_preferred([&](node_id n, std::size_t r) { w.refuse(n, r, true); });
  constexpr path_key straight_c{2, 2};
  p.traffic(500ms, traffic_class::bulk);
  REQUIRE(p.path(1, traffic_class::bulk) == straight_c);
  each_preferred([&](node_id n, std::size_t r) { w.refuse(n, r, false); });
  const auto returned = [&] {
    p.traffic(100ms, traffic_class::bulk);
    return p.path(1, traffic_class::bulk) == straight_a && p.path(2, traffic_class::bulk) == straight_a;
  };
  REQUIRE(w.until(returned, 30s));
  each_preferred([&](node_id n, std::size_t r) { w.block(n, r, w.now() + 100s); });
  // In that time a silent rail is suspected, and one attempt to connect is given up.
  CHECK(p.traffic(3s, traffic_class::bulk) <= 300ms);
  CHECK(p.path(1, traffic_class::bulk) == straight_c);
  p.check_clean();
}
