#include <deque>

#include "session_pair.hpp"

using namespace network;

namespace {

constexpr auto call_class = static_cast<std::size_t>(traffic_class::call);

/// For tests that wait in real time until a peer is given up.
endpoint_options hasty(node_id id, std::uint64_t incarnation = 1) {
  endpoint_options o = options_of(id, incarnation);
  o.reconnect_grace = 300ms;
  o.backoff_limit = 50ms;
  return o;
}

/// Traffic of all kinds between two nodes. Every request and every reply in it must arrive once.
struct traffic {
  explicit traffic(memory_world& on) : p(on) {
    for (std::uint64_t i = 0; i < 12; ++i) {
      const auto klass = static_cast<traffic_class>(i % 4);
      const std::size_t size = i % 3 == 0 ? 5000 : i * 20;
      REQUIRE(calls.emplace_back()
                  .start(*p.left, 2, i, size, klass, i % 2 ? 8 : 3000, i % 5 == 0 ? 3 : 1)
                  .has_value());
      REQUIRE(calls.emplace_back().start(*p.right, 1, i, size, klass, i % 2 ? 8 : 3000).has_value());
    }
  }
  void check() {
    REQUIRE(p.settle(calls));
    for (auto& c : calls) CHECK(c.answered());
    for (std::size_t i = 0; i < calls.size(); i += 2) CHECK(calls[i].parts == (i / 2 % 5 == 0 ? 2 : 0));
    for (node* n : {p.left.get(), p.right.get()}) {
      CHECK(n->in.seen.size() == 12);
      for (const auto& [number, times] : n->in.seen) CHECK(times == 1);
      CHECK(n->in.damaged == 0);
      CHECK(n->in.losses.empty());
    }
    REQUIRE(p.quiet());
    p.w.pass(200ms);
    check_credit_is_back(p);
  }
  pair p;
  std::deque<call> calls;
};

}  // namespace

TEST_CASE("a peer with which nothing has been exchanged costs little") {
  CHECK(sizeof(session) <= 704);  // lanes, paths and the round trip are made when first needed
}

TEST_CASE("a link that breaks anywhere loses and repeats nothing") {
  const std::size_t chunk = GENERATE(700U, 16384U);
  const bool whole_peer = GENERATE(false, true);
  int chunks = 1;
  std::uint64_t duplicates = 0;
  std::uint64_t replays = 0;
  for (int cut_at = 0; cut_at < chunks; ++cut_at) {
    memory_world w(chunk);
    int count = 0;
    w.net.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte>) {
      if (count++ != cut_at) return true;
      if (whole_peer) w.net.cut(1, 2);
      return whole_peer;
    });
    INFO("cut at " << cut_at);
    traffic t(w);
    t.check();
    chunks = std::max(chunks, std::min(count, 400));
    for (node* n : {t.p.left.get(), t.p.right.get()}) {
      duplicates += n->ep->statistics().duplicates;
      replays += n->ep->statistics().replays;
    }
  }
  CHECK(chunks > 10);
  CHECK(replays > 0);
  CHECK(duplicates == 0);  // the greetings say exactly what has arrived
}

TEST_CASE("links that break again and again lose and repeat nothing") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    memory_world w(900);
    random_generator random(seed);
    w.net.set_tamper(
        [&](std::uint32_t, std::uint32_t, std::span<std::byte>) { return !random.chance(1, 12); });
    INFO("seed " << seed);
    traffic t(w);
    t.check();
  }
}

TEST_CASE("both sides connect at once") {
  // The time between the two connects, plus the time that a message needs from one side to the other.
  const nanoseconds latency = GENERATE(1us, 10us, 3ms);
  std::uint64_t crossings = 0;
  for (int offset = -30; offset <= 30; ++offset) {
    memory_world w;
    w.set_latency(latency);
    pair p(w);
    std::deque<call> calls(4);
    const nanoseconds late = latency * std::abs(offset) / 10;
    node& first = offset < 0 ? *p.left : *p.right;
    node& second = offset < 0 ? *p.right : *p.left;
    INFO("offset " << offset << " latency " << latency.count());
    REQUIRE(calls[0].start(first, second.id, 1).has_value());
    REQUIRE(calls[1].start(first, second.id, 2, 8, traffic_class::bulk).has_value());
    w.pass(late);
    REQUIRE(calls[2].start(second, first.id, 3).has_value());
    REQUIRE(calls[3].start(second, first.id, 4, 8, traffic_class::bulk).has_value());
    REQUIRE(p.settle(calls));
    for (auto& c : calls) CHECK(c.answered());
    CHECK(w.clock.now().time_since_epoch() < 1s + 500ms);
    for (node* n : {p.left.get(), p.right.get()}) {
      CHECK(n->in.losses.empty());
      for (const auto& [number, times] : n->in.seen) CHECK(times == 1);
    }
    w.pass(100ms);
    CHECK(p.left->transport().open() == 2);
    CHECK(p.right->transport().open() == 2);
    crossings += w.net.crossings();
  }
  CHECK(crossings > 20);
}

TEST_CASE("a late copy of a connection attempt is refused and changes nothing") {
  const nanoseconds late = GENERATE(1us, 100us, 30ms, 700ms);
  const bool cut = GENERATE(false, true);
  memory_world w;
  pair p(w);
  for (const auto& [from, to] : {std::pair(1U, 2U), std::pair(2U, 1U)}) {
    w.net.path(from, to).repeat_connects = 2;
    w.net.path(from, to).repeat_after = late;
  }
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 20; ++i) {
    const auto klass = i % 2 == 0 ? traffic_class::call : traffic_class::bulk;
    REQUIRE(calls.emplace_back().start(*p.left, 2, i, 8, klass).has_value());
    REQUIRE(calls.emplace_back().start(*p.right, 1, i, 8, klass).has_value());
    w.pass(17us);
    if (cut && i == 10) w.net.cut(1, 2);
  }
  REQUIRE(p.settle(calls));
  w.pass(1s);
  CHECK(w.net.repeated() >= 2);
  CHECK(p.left->ep->statistics().links_refused + p.right->ep->statistics().links_refused >= w.net.repeated());
  for (auto& c : calls) CHECK(c.answered());
  for (node* n : {p.left.get(), p.right.get()}) {
    CHECK(n->in.losses.empty());
    for (const auto& [number, times] : n->in.seen) CHECK(times == 1);
  }
  w.pass(20s);
  REQUIRE(p.quiet());
  check_credit_is_back(p);
  CHECK(p.left->transport().open() == 2);
  CHECK(p.right->transport().open() == 2);
}

TEST_CASE("a node that only the other side can reach") {
  memory_world w;
  pair p(w);
  const bool left_blocked = GENERATE(true, false);
  w.net.refuse(left_blocked ? 1 : 2, left_blocked ? 2 : 1);
  call from_left;
  call from_right;
  REQUIRE(from_left.start(*p.left, 2, 1).has_value());
  REQUIRE(from_right.start(*p.right, 1, 2).has_value());
  REQUIRE(w.until([&] { return from_left.ends == 1 && from_right.ends == 1; }));
  CHECK(from_left.answered());
  CHECK(from_right.answered());
}

TEST_CASE("a broken connection is given up after the grace") {
  memory_world w;
  pair p(w, [](endpoint_options& o) { o.window = {2, 2, 2, 2}; });
  p.right->in.hold = true;
  std::deque<call> calls;
  for (std::uint64_t i = 0; i < 4; ++i) REQUIRE(calls.emplace_back().start(*p.left, 2, i).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 2; }));
  w.pass(100ms);
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  w.net.cut(1, 2);
  const time_point cut = w.clock.now();
  REQUIRE(p.settle(calls));
  CHECK(w.clock.now() - cut >= 1s);
  CHECK(w.clock.now() - cut <= 1100ms);
  for (std::size_t i = 0; i < 4; ++i) {
    INFO(i);
    CHECK(calls[i].outcome == errc::connection_lost);
    CHECK(calls[i].reached == (i < 2));
    CHECK_FALSE(calls[i].refused);
  }
  REQUIRE(p.left->in.losses.size() == 1);
  CHECK(p.left->in.losses[0] == errc::connection_lost);
  CHECK(p.left->ep->messages_in_use() == 0);
  CHECK(w.until([&] { return p.right->in.losses.size() == 1; }));  // it owes answers, so it has looked, too

  SECTION("the next request begins a new session, and old replies go nowhere") {
    w.net.admit(1, 2);
    p.right->in.hold = false;
    call again;
    REQUIRE(again.start(*p.left, 2, 50).has_value());
    REQUIRE(w.until([&] { return again.ends == 1; }));
    CHECK(again.answered());
    REQUIRE(p.right->in.losses.size() == 1);
    CHECK(p.right->in.losses[0] == errc::connection_lost);
    p.right->in.answer_all();
    w.pass(100ms);
    CHECK(p.left->ep->statistics().late_replies == 0);
    CHECK(p.right->ep->messages_in_use() == 0);
    check_credit_is_back(p);
  }
  SECTION("both sides give up and meet again in one session") {
    p.right->in.answer_all();
    w.pass(3s);
    CHECK(p.right->in.losses.size() == 1);
    w.net.admit(1, 2);
    w.net.admit(2, 1);
    p.right->in.hold = false;
    std::deque<call> more;
    for (std::uint64_t i = 100; i < 110; ++i) {
      REQUIRE(more.emplace_back().start(*p.left, 2, i, 8, static_cast<traffic_class>(i % 4)).has_value());
      REQUIRE(more.emplace_back().start(*p.right, 1, i, 8, static_cast<traffic_class>(i % 4)).has_value());
    }
    REQUIRE(p.settle(more));
    for (auto& c : more) CHECK(c.answered());
    CHECK(p.left->in.losses.size() == 1);
    CHECK(p.right->in.losses.size() == 1);
  }
}

TEST_CASE("one side has given the session up and the other comes back on both lanes") {
  for (int offset = 0; offset < 20; ++offset) {
    memory_world w;
    pair p(w);
    p.right->in.hold = true;
    std::deque<call> lost;
    for (auto klass : {traffic_class::call, traffic_class::bulk})
      REQUIRE(lost.emplace_back().start(*p.left, 2, 1, 8, klass).has_value());
    REQUIRE(w.until([&] { return p.right->in.held.size() == 2; }));
    w.pass(100ms);
    w.net.refuse(1, 2);
    w.net.refuse(2, 1);
    w.net.cut(1, 2);
    REQUIRE(p.settle(lost));
    w.net.admit(1, 2);
    w.net.admit(2, 1);
    p.right->in.hold = false;
    p.right->in.answer_all();  // replies of the old session, so that the right side connects as well
    w.pass(offset * 2us);
    std::deque<call> calls;
    for (auto klass : {traffic_class::call, traffic_class::bulk})
      REQUIRE(calls.emplace_back().start(*p.left, 2, 7, 8, klass).has_value());
    const time_point begun = w.clock.now();
    REQUIRE(p.settle(calls));
    INFO("offset " << offset);
    for (auto& c : calls) CHECK(c.answered());
    CHECK(w.clock.now() - begun < 100ms);
    CHECK(p.left->in.losses.size() == 1);
    CHECK(p.right->in.losses.size() == 1);
    CHECK(p.left->ep->statistics().late_replies == 0);
  }
}

TEST_CASE("a node that was never there is unreachable", "[reactor]") {
  const auto w = any_world();
  node a(*w, hasty(1));
  std::string nowhere;
  {
    node gone(*w, options_of(2));
    nowhere = gone.ep->listen_address();
  }
  REQUIRE(a.ep->add_peer(2, nowhere).has_value());
  call c;
  REQUIRE(c.start(a, 2, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.outcome == errc::unreachable);
  CHECK_THAT(std::string(c.outcome.text()), Catch::Contains("node 2") && Catch::Contains(nowhere));
  CHECK_FALSE(c.reached);
  CHECK_FALSE(c.refused);
  CHECK(a.in.losses.empty());
  CHECK(a.ep->messages_in_use() == 0);
}

TEST_CASE("a lane without need does not cost the session") {
  memory_world w;
  pair p(w);
  p.right->in.hold = true;
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 1; }));
  w.net.refuse(1, 2);
  call bulk;
  REQUIRE(bulk.start(*p.left, 2, 2, 8, traffic_class::bulk).has_value());
  w.pass(300ms);
  CHECK_FALSE(bulk.cancel());
  w.pass(10s);
  CHECK(c.pending());
  CHECK(p.left->in.losses.empty());
  p.right->in.answer_all();
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}

TEST_CASE("a request that waits for a connection is cancelled and leaves no trace") {
  memory_world w;
  pair p(w);
  w.net.refuse(1, 2);
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  w.pass(300ms);
  CHECK_FALSE(c.cancel());
  CHECK(p.left->ep->messages_in_use() == 0);
  w.pass(5s);
  CHECK(p.left->transport().open() == 0);
  CHECK(w.clock.idle());
  w.net.admit(1, 2);
  REQUIRE(c.start(*p.left, 2, 2).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}

TEST_CASE("a peer that comes back with a new incarnation has forgotten all", "[reactor]") {
  const auto w = any_world();
  node a(*w, hasty(1));
  auto b = std::make_unique<node>(*w, hasty(2, 5));
  const std::string at = b->ep->listen_address();
  introduce(a, *b);
  b->in.hold = true;
  call before;
  REQUIRE(before.start(a, 2, 1).has_value());
  REQUIRE(w->until([&] { return b->in.held.size() == 1; }));
  CHECK(a.to(2).peer_incarnation() == 5);
  b.reset();
  b = std::make_unique<node>(*w, hasty(2, 6), at);
  b->knows(a);
  REQUIRE(w->until([&] { return !a.to(2).connected(traffic_class::call); }));
  call unsent, question;
  REQUIRE(unsent.start(a, 2, 2).has_value());
  REQUIRE(question.start(a, 2, 4, 8, traffic_class::urgent).has_value());
  REQUIRE(w->until([&] { return before.ends == 1 && unsent.ends == 1 && question.ends == 1; }));
  CHECK(before.outcome == errc::peer_rebooted);
  CHECK(before.reached);
  CHECK(unsent.answered());  // it is for the service, and never left before
  CHECK(b->in.seen.size() == 1);
  CHECK(question.outcome == errc::peer_rebooted);  // it is for the life that was asked
  CHECK_FALSE(question.reached);
  REQUIRE(a.in.losses.size() == 1);
  CHECK(a.in.losses[0] == errc::peer_rebooted);
  CHECK(a.to(2).peer_incarnation() == 6);
  call after;
  REQUIRE(after.start(a, 2, 3).has_value());
  call back;
  REQUIRE(back.start(*b, 1, 4).has_value());
  REQUIRE(w->until([&] { return after.ends == 1 && back.ends == 1; }));
  CHECK(after.answered());
  CHECK(back.answered());
  CHECK(b->in.seen.count(1) == 0);

  SECTION("and an older one is refused") {
    b.reset();
    b = std::make_unique<node>(*w, hasty(2, 4), at);
    b->knows(a);
    call stale;
    REQUIRE(stale.start(*b, 1, 7).has_value());
    REQUIRE(w->until([&] { return stale.ends == 1; }));
    CHECK(stale.outcome == errc::stale);
    CHECK_FALSE(stale.reached);
    CHECK(a.ep->last_refusal() == errc::stale);
    CHECK(b->ep->last_refusal() == errc::stale);
    call to_stale;
    REQUIRE(to_stale.start(a, 2, 8).has_value());
    REQUIRE(w->until([&] { return to_stale.ends == 1; }));
    CHECK(to_stale.outcome == errc::stale);
    CHECK(b->in.seen.empty());
  }
}

TEST_CASE("a peer that reboots while both connect") {
  for (int offset = 0; offset < 40; ++offset) {
    memory_world w;
    node a(w, options_of(offset % 2 ? 1 : 3));
    auto b = std::make_unique<node>(w, options_of(2, 5));
    introduce(a, *b);
    b->in.hold = true;
    call before;
    REQUIRE(before.start(a, 2, 1).has_value());
    REQUIRE(w.until([&] { return b->in.held.size() == 1; }));
    b.reset();
    b = std::make_unique<node>(w, options_of(2, 6));
    b->knows(a);
    w.pass(5ms + offset * 2us);
    call back;
    REQUIRE(back.start(*b, a.id, 4).has_value());
    REQUIRE(w.until([&] { return before.ends == 1 && back.ends == 1; }));
    CHECK(before.outcome == errc::peer_rebooted);
    CHECK(back.answered());
  }
}

TEST_CASE("strangers are turned away with the reason, at both ends", "[reactor]") {
  const auto w = any_world();
  endpoint_options a = hasty(1);
  endpoint_options b = options_of(2);
  node_id call_it = 2;
  bool known = true;
  errc expected = errc::ok;
  std::string text;
  SECTION("another cluster") {
    b.cluster = "production";
    expected = errc::wrong_cluster;
    text = "production";
  }
  SECTION("another node at the address") {
    call_it = 3;
    expected = errc::not_member;
    text = "this is node 2, not 3";
  }
  SECTION("a node that is not known") {
    known = false;
    expected = errc::not_member;
    text = "does not know node 1";
  }
  node left(*w, a);
  node right(*w, b);
  REQUIRE(left.ep->add_peer(call_it, right.ep->listen_address()).has_value());
  if (known) right.knows(left);
  call c;
  REQUIRE(c.start(left, call_it, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.outcome == expected);
  CHECK_THAT(std::string(c.outcome.text()), Catch::Contains(text));
  CHECK_FALSE(c.reached);
  CHECK(left.ep->last_refusal() == expected);
  CHECK(right.ep->last_refusal() == expected);
  CHECK_THAT(std::string(right.ep->last_refusal().text()), Catch::Contains(text));
  CHECK(right.ep->statistics().links_refused > 0);
  CHECK(right.in.seen.empty());
}

TEST_CASE("draining waits for what is owed, then says goodbye", "[reactor]") {
  const auto w = any_world();
  pair p(*w);
  p.right->in.hold = true;
  call c;
  REQUIRE(c.start(*p.left, 2, 1).has_value());
  REQUIRE(w->until([&] { return p.right->in.held.size() == 1; }));
  std::optional<status> drained;
  std::optional<background> draining;
  const auto drain = [&](nanoseconds limit) {
    draining.emplace(w->ex(), on_reactor::keep(p.right->ep->drain(limit), drained));
  };

  SECTION("clean") {
    drain(5s);
    w->pass(20ms);
    CHECK_FALSE(drained.has_value());
    call late;
    REQUIRE(late.start(*p.left, 2, 2).has_value());
    REQUIRE(w->until([&] { return late.ends == 1; }));
    CHECK(late.outcome == errc::closed);
    CHECK(late.refused);
    call refused_here;
    CHECK(refused_here.start(*p.right, 1, 3).error() == errc::closed);
    p.right->in.answer_all();
    REQUIRE(w->until([&] { return drained.has_value(); }));
    CHECK(drained->has_value());
    CHECK(c.answered());
    REQUIRE(w->until([&] { return p.left->in.losses.size() == 1; }));
    CHECK(p.left->in.losses[0] == errc::closed);
    CHECK(p.right->transport().open() == 0);
    CHECK(p.right->ep->messages_in_use() == 0);
    REQUIRE(w->until([&] { return p.left->transport().open() == 0 || !p.left->in.losses.empty(); }));
    CHECK(p.left->ep->messages_in_use() == 0);
  }
  SECTION("with work that does not end") {
    drain(30ms);
    REQUIRE(w->until([&] { return drained.has_value(); }));
    REQUIRE_FALSE(drained->has_value());
    CHECK(drained->error() == errc::deadline_exceeded);
    REQUIRE(w->until([&] { return c.ends == 1; }));
    CHECK(c.outcome == errc::closed);
    CHECK(c.reached);
    CHECK(p.right->transport().open() == 0);
  }
  SECTION("with requests of its own") {
    p.left->in.hold = true;
    call own;
    REQUIRE(own.start(*p.right, 1, 9).has_value());
    drain(5s);
    REQUIRE(w->until([&] { return p.left->in.held.size() == 1; }));
    p.right->in.answer_all();
    w->pass(20ms);
    CHECK_FALSE(drained.has_value());
    p.left->in.answer_all();
    REQUIRE(w->until([&] { return drained.has_value(); }));
    CHECK(drained->has_value());
    CHECK(own.answered());
    CHECK(c.answered());
  }
}

TEST_CASE("callbacks of a lost session may cancel, free and start exchanges") {
  memory_world w;
  pair p(w);
  p.right->in.hold = true;
  std::deque<call> calls(6);
  for (std::size_t i = 0; i < 6; ++i) REQUIRE(calls[i].start(*p.left, 2, i).has_value());
  auto owned = std::make_unique<call>();
  REQUIRE(owned->start(*p.left, 2, 10).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 7; }));
  calls[0].then = [&](call& self) {
    calls[3].cancel();
    owned.reset();
    self.then = {};
    CHECK(self.start(*p.left, 2, 20).has_value());
  };
  p.right->in.hold = false;
  w.net.refuse(1, 2);
  w.net.refuse(2, 1);
  w.net.cut(1, 2);
  REQUIRE(w.until([&] { return calls[1].ends == 1; }));
  w.net.admit(1, 2);
  w.net.admit(2, 1);
  REQUIRE(w.until([&] { return calls[0].answered(); }));
  CHECK(calls[3].ends == 0);
  CHECK_FALSE(calls[3].pending());
  for (std::size_t i : {1U, 2U, 4U, 5U}) CHECK(calls[i].outcome == errc::connection_lost);
  REQUIRE(w.until([&] { return p.left->ep->messages_in_use() == 0; }));
  check_credit_is_back(p);
}

TEST_CASE("endpoints die in any order with everything under way", "[reactor]") {
  const auto w = any_world();
  const int order = GENERATE(0, 1, 2, 3);
  const auto before = on_reactor::open_descriptors();
  {
    std::vector<std::unique_ptr<node>> nodes;
    for (node_id id = 1; id <= 3; ++id) nodes.push_back(std::make_unique<node>(*w, options_of(id)));
    std::deque<call> calls;
    for (auto& a : nodes) {
      for (auto& b : nodes) {
        if (a != b) a->knows(*b);
      }
    }
    nodes[1]->in.hold = true;
    for (auto& a : nodes) {
      for (auto& b : nodes) {
        for (std::uint64_t i = 0; a != b && i < 20; ++i) {
          REQUIRE(
              calls.emplace_back().start(*a, b->id, i, 2000, static_cast<traffic_class>(i % 4)).has_value());
        }
      }
    }
    if (order < 2) w->until([&] { return calls.front().ends == 1 || nodes[1]->in.held.size() > 3; });
    if (order == 3) std::swap(nodes[0], nodes[2]);
    nodes[static_cast<std::size_t>(order % 2)].reset();
    w->pass(1ms);
    nodes.clear();
    for (auto& c : calls) CHECK(c.ends == 1);
  }
  CHECK(on_reactor::open_descriptors() == before);
}

TEST_CASE("a frozen peer costs bounded memory and nobody else") {
  memory_world w;
  pair p(w);
  node third(w, options_of(3));
  introduce(*p.left, third);
  call warm;
  REQUIRE(warm.start(*p.left, 2, 0).has_value());
  REQUIRE(w.until([&] { return warm.ends == 1; }));
  w.pass(100ms);
  w.net.freeze(2);
  std::deque<call> calls;
  std::size_t refused = 0;
  for (std::uint64_t i = 1; i <= 1000; ++i) {
    calls.emplace_back();
    if (!calls.back().start(*p.left, 2, i, 20000)) {
      calls.pop_back();
      ++refused;
    }
    if (i % 10 == 0) w.pass(1ms);
  }
  CHECK(refused > 0);
  const auto& o = p.left->ep->options();
  CHECK(p.left->to(2).held_messages() <= o.window[call_class] + o.queue_limit);
  call other;
  REQUIRE(other.start(*p.left, 3, 1).has_value());
  REQUIRE(w.until([&] { return other.ends == 1; }));
  CHECK(other.answered());
  w.net.thaw(2);
  REQUIRE(p.settle(calls));
  for (auto& c : calls) CHECK(c.answered());
}

TEST_CASE("options are checked") {
  endpoint_options o = options_of(1);
  CHECK(o.validate().has_value());
  CHECK_FALSE(endpoint_options{}.validate().has_value());
  o.window[2] = 0;
  CHECK_THAT(std::string(o.validate().error().text()), Catch::Contains("window"));
  o = options_of(1);
  o.cluster = std::string(65, 'x');
  CHECK(o.validate().error() == errc::invalid_argument);
  memory_world w;
  node n(w, options_of(1));
  CHECK(n.ep->add_peer(1, "host:1").error() == errc::invalid_argument);
  CHECK(n.ep->add_peer(0, "host:0").error() == errc::invalid_argument);
  CHECK(n.ep->find(9) == nullptr);
  REQUIRE(n.ep->add_peer(3, "host:3").has_value());
  REQUIRE(n.ep->add_peer(2, "host:2").has_value());
  REQUIRE(n.ep->add_peer(2, "host:40").has_value());
  CHECK(n.ep->add_peer(3, "storage-3:7001").error() == errc::invalid_argument);
  CHECK(n.ep->add_peer(4, "host:").error() == errc::invalid_argument);
  CHECK(n.ep->find(4) == nullptr);
  std::vector<std::string> all;
  n.ep->sessions([&](session& s) { all.push_back(s.address()); });
  CHECK(all == std::vector<std::string>{"host:40", "host:3"});
}
