#include "rail_nodes.hpp"
#include "tests/transport/session/stranger.hpp"
#include "transport/session/rails/link_down.hpp"

// What arrives over two bulk connections of one peer: each message goes up once, in whatever order, and a cancel
// waits for what was sent before it.
using namespace network;

namespace {

/// Node 1 with two rails, and node 7, which has a bulk connection on each of them.
struct two_links {
  explicit two_links(bool hold = false) {
    p.left.knows(7);
    p.left.in.hold = hold;
    greet(control, 0, lane_id::control);
    greet(a, 0, lane_id::bulk);
    greet(b, 1, lane_id::bulk);
  }
  ~two_links() { p.left.in.drop_all(); }

  void greet(stranger& s, std::uint8_t rail, lane_id lane) {
    s.connect(w.address_on(1, rail));
    identity who = s.greeting(1, 1);
    who.known_epoch = p.left.to(7).epoch();
    who.from_rail = who.to_rail = rail;
    who.lane = static_cast<std::uint8_t>(lane);
    s.say(stranger::encoded(who));
    REQUIRE(s.hears(frame_type::welcome));
  }
  /// A message of class bulk with that number. A request asks with its number; `about` is the exchange.
  void say(stranger& by, std::uint64_t number, frame_type type = frame_type::request,
           std::uint64_t about = 0) {
    by.say(by.message_of(type, about == 0 ? number : about, {number, 8, 1}, [&](frame_header& h) {
      h.klass = traffic_class::bulk;
      h.sequence = number;
    }));
  }
  int times(std::uint64_t number) { return p.left.in.seen[number]; }
  bool comes(std::uint64_t number) {
    return w.until([&] { return times(number) == 1; }, 1s);
  }
  /// What node 1 says that has arrived on the bulk lane.
  link_down arrived() {
    link_down what;
    what.lane = static_cast<std::uint8_t>(lane_id::bulk);
    what.attempt = 999;
    control.frames.clear();
    control.say(stranger::encoded_as(frame_type::link_down, what));
    REQUIRE(control.hears(frame_type::link_down_reply));
    const auto said = wire::decode_from<link_down>(control.frames.back().payload);
    REQUIRE(said.has_value());
    return *said;
  }

  rails_world w{2};
  rail_pair p{w};
  stranger control{w, 7};
  stranger a{w, 7};
  stranger b{w, 7};
};

}  // namespace

TEST_CASE("bulk messages go up at once, in the order in which two connections bring them") {
  two_links t;
  t.say(t.a, 2);
  REQUIRE(t.comes(2));
  t.say(t.b, 4);
  REQUIRE(t.comes(4));
  link_down said = t.arrived();
  CHECK(said.received == 0);
  CHECK(said.beyond == std::array<std::uint64_t, 4>{0b1010, 0, 0, 0});
  t.say(t.b, 1);
  REQUIRE(t.comes(1));
  said = t.arrived();
  CHECK(said.received == 2);
  CHECK(said.beyond == std::array<std::uint64_t, 4>{0b10, 0, 0, 0});
  t.say(t.a, 3);
  REQUIRE(t.comes(3));
  CHECK(t.arrived().received == 4);
  CHECK(t.p.left.counts().links_broken == 0);
}

TEST_CASE("a bulk message that comes by both connections goes up once") {
  two_links t;
  for (const std::uint64_t number : {3U, 1U, 3U, 2U, 2U, 1U}) {
    t.say(t.a, number);
    t.say(t.b, number);
  }
  REQUIRE(t.comes(2));
  t.w.pass(10ms);
  for (const std::uint64_t number : {1U, 2U, 3U}) CHECK(t.times(number) == 1);
  CHECK(t.p.left.counts().duplicates == 9);
  CHECK(t.p.left.counts().links_broken == 0);
}

TEST_CASE("a bulk message beyond the window costs its connection, and no other one") {
  two_links t;
  t.say(t.a, 256);
  REQUIRE(t.comes(256));
  t.say(t.b, 257);
  REQUIRE(t.b.is_dropped());
  CHECK_THAT(std::string(t.p.left.ep->last_violation().text()), Catch::Contains("gap in the sequence"));
  CHECK(t.times(257) == 0);
  t.say(t.a, 1);
  REQUIRE(t.comes(1));
  CHECK_FALSE(t.a.closed);
  CHECK_FALSE(t.control.closed);
  CHECK(t.p.left.counts().links_broken == 1);
}

TEST_CASE("a cancel that has overtaken its request is heard after it") {
  two_links t(true);
  t.say(t.a, 3, frame_type::cancel, 2);
  t.say(t.b, 4, frame_type::cancel, 1);
  t.say(t.b, 1);
  REQUIRE(t.comes(1));
  t.w.pass(10ms);
  CHECK(t.p.left.in.cancelled == 0);
  CHECK(t.p.left.in.held.size() == 1);
  t.say(t.a, 2);
  REQUIRE(t.w.until([&] { return t.p.left.in.cancelled == 2; }, 1s));
  CHECK(t.times(2) == 1);
  CHECK(t.p.left.in.held.empty());
}

TEST_CASE("a cancel that has overtaken nothing is heard at once") {
  two_links t(true);
  t.say(t.a, 1);
  REQUIRE(t.comes(1));
  t.say(t.b, 2, frame_type::cancel, 1);
  REQUIRE(t.w.until([&] { return t.p.left.in.cancelled == 1; }, 1s));
  CHECK(t.p.left.in.held.empty());
}
