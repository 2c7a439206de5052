#include <cstring>
#include <thread>

#include "session_pair.hpp"
#include "stranger.hpp"
#include "transport/session/prober.hpp"
#include "transport/session/round_trip.hpp"

// Whether a peer is there, as its answers to probes show it.
using namespace network;

namespace {

const nanoseconds limit = endpoint_options{}.silence_limit;

/// A call of node 1 to node 2, which works at it until `right->in` is told to answer.
struct long_call {
  explicit long_call(memory_world& on, const std::function<void(endpoint_options&)>& tune = {})
      : p(on, tune) {
    p.right->in.hold = true;
    REQUIRE(c.start(*p.left, 2, 1).has_value());
    REQUIRE(p.w.until([&] { return p.right->in.held.size() == 1; }));
    began = p.w.ex().now();
  }
  nanoseconds age() { return p.w.ex().now() - began; }
  const endpoint_statistics& caller() { return p.left->ep->statistics(); }

  pair p;
  call c;
  time_point began;
};

probe probe_in(const stranger::heard& frame) {
  const auto p = wire::decode_from<probe>(frame.payload);
  REQUIRE(p.has_value());
  return *p;
}

/// Node 1 with a call to node 7, a stranger that has welcomed it.
struct call_to_stranger {
  call_to_stranger(world& on, const endpoint_options& o) : w(on), s(on, 7), n(on, o) {
    s.listen(w.address(7));
    REQUIRE(n.ep->add_peer(7, s.listen_address()).has_value());
    REQUIRE(c.start(n, 7, 1).has_value());
    welcome();
  }
  /// Takes over the latest connection of node 1. It waits for a hello.
  void welcome() {
    REQUIRE(s.hears(frame_type::identity));
    identity h = s.greeting(1, 1);
    h.known_epoch = n.to(7).epoch();
    s.say(stranger::encoded(h, frame_type::welcome));
  }
  void answer(const probe& asked) {
    frame_header header;
    header.type = frame_type::probe_reply;
    std::array<std::byte, sizeof(probe)> payload;
    const auto size = wire::encode_to(payload, asked);
    REQUIRE(size.has_value());
    s.say(frame_of(header, {}, std::span(payload).first(*size)));
  }

  world& w;
  stranger s;
  node n;
  call c;
};

}  // namespace

TEST_CASE("round trips are smoothed, and the safe one covers those that vary") {
  round_trip r;
  CHECK_FALSE(r.known());
  CHECK(r.safe() == 0ns);
  time_point now{};
  r.add(100us, now);
  CHECK(r.smoothed() == 100us);
  CHECK(r.deviation() == 50us);
  CHECK(r.least() == 100us);
  CHECK(r.safe() == 100us + 200us + round_trip::turns);
  for (int i = 0; i < 200; ++i) r.add(i % 2 == 0 ? 90us : 110us, now += 100ms);
  CHECK(r.smoothed() > 95us);
  CHECK(r.smoothed() < 105us);
  CHECK(r.safe() > 110us);
  CHECK(r.safe() < 1200us);
  SECTION("one that is far above the others counts if another one is like it") {
    const nanoseconds before = r.safe();
    r.add(900ms, now += 100ms);
    CHECK(r.safe() == before);
    r.add(100us, now += 100ms);
    CHECK(r.safe() <= before);
    r.add(900ms, now += 100ms);
    r.add(900ms, now += 100ms);
    CHECK(r.safe() > 500ms);
  }
  SECTION("the least one is forgotten") {
    r.add(10us, now);
    CHECK(r.least() == 10us);
    for (int i = 0; i < 250; ++i) r.add(100us, now += 100ms);
    CHECK(r.least() == 100us);
  }
}

TEST_CASE("only an answer to a probe that is unanswered counts") {
  prober p;
  const time_point start{5s};
  CHECK(p.due(start, 100ms));
  CHECK_FALSE(p.unanswered());
  const probe first = p.next(start, 3, 9);
  CHECK(first.serial == 1);
  CHECK(first.owing == 3);
  CHECK(first.pulse == 9);
  CHECK(p.unanswered());
  CHECK_FALSE(p.due(start + 99ms, 100ms));
  CHECK(p.due(start + 100ms, 100ms));
  const probe second = p.next(start + 1s, 0, 0);
  CHECK(p.answered(first, start + 1001ms) == 1001ms);
  CHECK(p.unanswered());
  CHECK_FALSE(p.answered(first, start + 1002ms));
  CHECK(p.answered(second, start + 1003ms) == 3ms);
  CHECK_FALSE(p.unanswered());
  SECTION("what is unanswered left after what was answered") {
    for (int i = 1; i <= 9; ++i) p.next(start + 2s + i * 1s, 0, 0);
    CHECK(p.unanswered_since() == start + 3s);  // no probe was unanswered when the first of these left
    const auto answer_to = [&](std::uint32_t serial, time_point left) {
      return probe{static_cast<std::uint64_t>(left.time_since_epoch().count()), serial};
    };
    CHECK(p.answered(answer_to(3, start + 3s), start + 12s) == 9s);
    CHECK(p.unanswered_since() == start + 3s);  // of eight probes, the first ones are forgotten
    CHECK(p.answered(answer_to(9, start + 9s), start + 12s) == 3s);
    CHECK(p.unanswered_since() == start + 10s);
    for (int i = 10; i <= 15; ++i) p.next(start + 2s + i * 1s, 0, 0);
    CHECK(p.answered_probe_left() == start + 9s);
    CHECK(p.unanswered_since() == start + 9s);
    p.distrust_times(start + 20s);
    CHECK(p.unanswered_since() == start + 20s);
  }
  SECTION("an answer to a probe that has not left") {
    CHECK_FALSE(p.answered({second.stamp, 3, 0}, start + 2s));
  }
  SECTION("a stamp of another time gives no round trip") {
    const probe third = p.next(start + 2s, 0, 0);
    CHECK(p.answered({third.stamp - 1, 3, 0}, start + 2s) == 0ns);
    CHECK_FALSE(p.unanswered());
    const probe fourth = p.next(start + 3s, 0, 0);
    CHECK(p.answered({fourth.stamp + 1, 4, 0}, start + 4s) == 0ns);
  }
  SECTION("a pause of this process gives no round trip") {
    const probe third = p.next(start + 2s, 0, 0);
    p.distrust_times(start + 9s);
    CHECK(p.answered(third, start + 9s) == 0ns);
    const probe fourth = p.next(start + 10s, 0, 0);
    CHECK(p.answered(fourth, start + 10s + 1ms) == 1ms);
  }
}

TEST_CASE("a call without a deadline to a peer that stands still ends, and names it") {
  memory_world w;
  long_call l(w);
  const bool serving = GENERATE(true, false);
  w.pass(3s);
  w.net.freeze(serving ? 2 : 1);  // what is sent to it waits
  const time_point stopped = w.ex().now();
  REQUIRE(w.until([&] { return l.c.ends == 1; }, 30s));
  CHECK(w.ex().now() - stopped >= limit);
  CHECK(w.ex().now() - stopped <= limit + 1200ms);
  CHECK(l.c.outcome == errc::connection_lost);
  CHECK_THAT(std::string(l.c.outcome.text()), Catch::Contains("node 2 has not answered for 10 s"));
  CHECK(l.c.reached);
  CHECK(l.caller().silences == 1);
  REQUIRE(w.until([&] { return !l.p.right->in.losses.empty(); }, 30s));  // its handler hears, too
  w.net.thaw(serving ? 2 : 1);
  w.pass(1s);  // what was under way to it arrives, such as connections that are over
  l.p.right->in.drop_all();
  l.p.right->in.hold = false;
  call again;
  REQUIRE(again.start(*l.p.left, 2, 2).has_value());
  REQUIRE(w.until([&] { return again.ends == 1; }));
  INFO(describe(again.outcome));
  CHECK(again.answered());
}

TEST_CASE("a peer that stands still at once is given up as soon") {
  memory_world w;
  pair p(w);
  call first;
  REQUIRE(first.start(*p.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return first.answered(); }));
  w.pass(60s);  // nothing is awaited: nobody looks
  CHECK(p.left->ep->statistics().probes_sent <= 1);
  w.net.freeze(2);
  const time_point began = w.ex().now();
  call c;
  REQUIRE(c.start(*p.left, 2, 2).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }, 30s));
  CHECK(w.ex().now() - began <= limit + 500ms);
  CHECK(c.outcome == errc::connection_lost);
  w.net.thaw(2);
}

TEST_CASE("pauses of a peer that are shorter than the limit cost nothing") {
  memory_world w;
  long_call l(w);
  for (int i = 0; i < 10; ++i) {
    w.net.freeze(2);
    w.pass(i % 2 == 0 ? 3s : 9s);
    w.net.thaw(2);
    w.pass(2s);
  }
  CHECK(l.c.ends == 0);
  l.p.right->in.answer_all();
  REQUIRE(w.until([&] { return l.c.answered(); }));
  for (node* n : {l.p.left.get(), l.p.right.get()}) {
    CHECK(n->in.losses.empty());
    CHECK(n->ep->statistics().replays == 0);
    CHECK(n->ep->statistics().links_stuck == 0);
  }
}

TEST_CASE("a silence limit of 0 waits for ever") {
  memory_world w;
  long_call l(w, [](endpoint_options& o) { o.silence_limit = 0ns; });
  w.net.freeze(2);
  w.pass(600s);
  CHECK(l.c.ends == 0);
  w.net.thaw(2);
  l.p.right->in.answer_all();
  REQUIRE(w.until([&] { return l.c.answered(); }));
}

TEST_CASE("a long wait costs a probe a second, each way, and shows the round trip") {
  memory_world w;
  long_call l(w);
  w.pass(60s);
  for (node* n : {l.p.left.get(), l.p.right.get()}) {
    const endpoint_statistics& count = n->ep->statistics();
    CHECK(count.probes_sent >= 59);
    CHECK(count.probes_sent <= 62);
    CHECK(count.probes_answered == count.probes_sent);
  }
  const session& to = l.p.left->to(2);
  CHECK(to.rtt().smoothed() >= 20us);
  CHECK(to.rtt().smoothed() < 30us);
  CHECK(to.rtt().least() == to.rtt().smoothed());
  CHECK(w.ex().now() - to.last_contact() <= 1100ms);
  l.p.right->in.answer_all();
  REQUIRE(w.until([&] { return l.c.answered(); }));
}

TEST_CASE("a call that waits for nothing is counted") {
  memory_world w;
  long_call l(w);
  w.pass(5s);
  REQUIRE(l.caller().answers_missing == 0);
  l.p.right->in.held[0]->work.drop();  // nobody works at it any more, and nobody has answered
  l.p.right->in.held.clear();
  w.pass(5s);
  CHECK(l.c.ends == 0);
  CHECK(l.caller().answers_missing >= 3);
  CHECK(l.p.right->ep->statistics().answers_missing == 0);
  CHECK(l.p.left->in.missing == std::pair<std::size_t, std::size_t>(1, 0));
  l.c.cancel();
}

TEST_CASE("a peer that answers probes and acknowledges nothing gets other connections, and is given up") {
  memory_world w;
  endpoint_options o = options_of(1);
  o.unacknowledged_limit = 2s;
  call_to_stranger t(w, o);
  const time_point began = w.ex().now();
  std::size_t heard = 2;  // the first hello and identity have been answered
  for (int i = 0; i < 30'000 && t.c.ends == 0; ++i, w.pass(1ms)) {
    for (; t.s.linked() && heard < t.s.frames.size(); ++heard) {
      const frame_type type = t.s.frames[heard].header.type;
      t.s.closed = false;
      if (type == frame_type::probe) t.answer(probe_in(t.s.frames[heard]));
      if (type == frame_type::identity) t.welcome();
    }
  }
  REQUIRE(t.c.ends == 1);
  CHECK(t.c.outcome == errc::connection_lost);
  CHECK_THAT(std::string(t.c.outcome.text()), Catch::Contains("acknowledged nothing for 2 s"));
  CHECK(t.n.ep->statistics().links_stuck == 3);
  CHECK(t.n.ep->statistics().silences == 0);
  CHECK(w.ex().now() - began >= 6s);
  CHECK(w.ex().now() - began <= 8s);
}

TEST_CASE("who did not run for longer than the limit blames nobody", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  endpoint_options o = options_of(1);
  o.silence_limit = 400ms;
  o.probe_interval = 100ms;
  call_to_stranger t(w, o);
  REQUIRE(t.s.hears(frame_type::probe));
  std::this_thread::sleep_for(1s);  // of this process: neither end does anything
  w.run_once(1ms);                  // its timers run first, and then it reads
  REQUIRE(t.c.ends == 0);
  t.answer(probe_in(t.s.frames.back()));
  REQUIRE(w.until([&] { return t.n.ep->statistics().probes_answered == 1; }));
  CHECK(t.c.ends == 0);
  CHECK(t.n.to(7).rtt().smoothed() == 0ns);  // that answer took long, but not on the way
  REQUIRE(w.until([&] { return t.c.ends == 1; }));
  CHECK(t.n.ep->statistics().silences == 1);
}

TEST_CASE("a connection that carries nothing is replaced, and nothing is lost") {
  memory_world w;
  const auto klass = GENERATE(traffic_class::call, traffic_class::bulk);
  const bool serving_sends = GENERATE(false, true);
  pair p(w);
  p.right->in.hold = true;
  call first;
  REQUIRE(first.start(*p.left, 2, 1).has_value());  // so that there is a control connection, too
  call c;
  REQUIRE(c.start(*p.left, 2, 2, 5000, klass).has_value());
  REQUIRE(w.until([&] { return p.right->in.held.size() == 2; }));
  w.pass(500ms);
  w.net.lose_all(1, 2);
  const time_point lost = w.ex().now();
  if (serving_sends) p.right->in.answer_all();  // into nothing
  std::deque<call> more(10);
  for (std::uint64_t i = 0; i < more.size(); ++i)
    REQUIRE(more[i].start(*p.left, 2, 10 + i, 3000, klass).has_value());
  p.right->in.hold = false;
  REQUIRE(p.settle(more));
  CHECK(w.ex().now() - lost <= (klass == traffic_class::bulk ? 2500ms : 1500ms));
  p.right->in.answer_all();
  REQUIRE(w.until([&] { return first.ends == 1 && c.ends == 1; }));
  CHECK(first.answered());
  CHECK(c.answered());
  for (auto& m : more) CHECK(m.answered());
  for (const auto& [number, times] : p.right->in.seen) CHECK(times == 1);
  for (node* n : {p.left.get(), p.right.get()}) CHECK(n->in.losses.empty());
  CHECK(p.left->ep->statistics().links_half_dead + p.right->ep->statistics().links_half_dead >= 1);
  REQUIRE(p.quiet());
  w.pass(15s);  // both ends of the old connections are gone
  CHECK(p.left->transport().open() == (klass == traffic_class::bulk ? 2 : 1));
  check_credit_is_back(p);
}

TEST_CASE("answers that fit no probe prove nothing") {
  memory_world w;
  call_to_stranger t(w, options_of(1));
  const time_point began = w.ex().now();
  std::uint32_t said = 0;
  REQUIRE(w.until(
      [&] {
        t.answer({0, 1'000'000 + ++said, 0});
        w.pass(100ms);
        return t.c.ends == 1 || said > 400;
      },
      100s));
  CHECK(t.c.outcome == errc::connection_lost);
  CHECK_THAT(std::string(t.c.outcome.text()), Catch::Contains("has not answered"));
  CHECK(w.ex().now() - began <= limit + 500ms);
  CHECK(t.n.to(7).rtt().smoothed() == 0ns);
}

TEST_CASE("a flood of probes costs one answer per turn, and a probe that is none breaks the link") {
  memory_world w;
  stranger s(w, 2);
  node n(w, options_of(1));
  REQUIRE(n.ep->add_peer(2, w.address(2)).has_value());
  s.connect(n.ep->listen_address());
  s.say(stranger::encoded(s.greeting(1)));
  REQUIRE(s.hears(frame_type::welcome));
  frame_header header;
  header.type = frame_type::probe;
  SECTION("a flood") {
    std::vector<std::byte> many;
    for (std::uint32_t i = 1; i <= 500; ++i) {
      std::array<std::byte, sizeof(probe)> payload;
      const auto size = wire::encode_to(payload, probe{i, i, 0});
      REQUIRE(size.has_value());
      const auto one = frame_of(header, {}, std::span(payload).first(*size));
      many.insert(many.end(), one.begin(), one.end());
    }
    const std::uint64_t before = n.ep->statistics().frames_sent;
    s.say(many);
    REQUIRE(w.until([&] {
      const auto& last = s.frames.back();
      return last.header.type == frame_type::probe_reply && probe_in(last).serial == 500;
    }));
    CHECK(n.ep->statistics().frames_sent - before <= 10);  // the flood comes in a few pieces
    CHECK(n.ep->messages_in_use() == 0);
  }
  SECTION("no probe") {
    s.say(frame_of(header, {}, std::vector<std::byte>(7)));
    REQUIRE(s.is_dropped());
    CHECK(n.ep->statistics().links_broken == 1);
  }
  if (s.linked()) s.hang_up();
}
