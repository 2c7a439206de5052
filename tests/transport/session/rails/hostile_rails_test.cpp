#include <algorithm>

#include "rail_nodes.hpp"
#include "tests/transport/session/stranger.hpp"
#include "transport/session/prober.hpp"
#include "transport/session/rails/link_down.hpp"

// Peers that break the rules of several rails: memory stays bounded, and others are served.
using namespace network;

namespace {

/// Nodes 1 and 2 with two rails, and a stranger that node 1 knows as node 7.
struct intruded_rails {
  intruded_rails() : p(w), s(w, 7) {
    p.left.knows(7);
    p.exchange_calls();
  }
  void greet(std::size_t rail = 0, std::uint8_t from_rail = 0, lane_id lane = lane_id::control) {
    s.connect(w.address_on(1, rail));
    s.say(stranger::encoded(greeting(from_rail, lane)));
    REQUIRE(s.hears(frame_type::welcome));
    s.sequence = 0;
  }
  identity greeting(std::uint8_t from_rail, lane_id lane = lane_id::control) {
    identity h = s.greeting(1, 1);
    h.known_epoch = p.left.to(7).epoch();
    h.from_rail = from_rail;
    h.lane = static_cast<std::uint8_t>(lane);
    return h;
  }
  void check_others_are_served() {
    CHECK(p.traffic(300ms) <= 1ms);
    CHECK(p.right.in.losses.empty());
    CHECK(p.right.counts().links_broken == 0);
    CHECK(p.right.counts().sessions_lost == 0);
  }
  void check_dropped(const std::string& why) {
    REQUIRE(s.is_dropped());
    CHECK_THAT(std::string(p.left.ep->last_violation().text()), Catch::Contains(why));
    CHECK(p.left.counts().links_broken == 1);
    check_others_are_served();
  }
  session& peer() { return p.left.to(7); }
  /// The answers to `link_down` that the stranger has heard.
  std::uint64_t replies() const {
    const auto is_reply = [](const stranger::heard& f) {
      return f.header.type == frame_type::link_down_reply;
    };
    return static_cast<std::uint64_t>(std::ranges::count_if(s.frames, is_reply));
  }

  rails_world w{2};
  rail_pair p;
  stranger s;
};

std::vector<std::byte> down_of(const link_down& what, frame_type type = frame_type::link_down) {
  std::array<std::byte, sizeof(link_down)> payload;
  const auto size = wire::encode_to(payload, what);
  REQUIRE(size.has_value());
  frame_header header;
  header.type = type;
  return frame_of(header, {}, std::span(payload).first(*size));
}

std::vector<std::byte> probe_of(std::uint32_t serial) {
  std::array<std::byte, sizeof(probe)> payload;
  const auto size = wire::encode_to(payload, probe{serial, serial, serial, serial});
  REQUIRE(size.has_value());
  frame_header header;
  header.type = frame_type::probe;
  return frame_of(header, {}, std::span(payload).first(*size));
}

}  // namespace

TEST_CASE("a flood of link_down and probes costs a bounded number of answers, and others are served") {
  intruded_rails i;
  i.greet();
  const std::uint64_t before = i.p.left.counts().frames_sent;
  std::vector<std::byte> flood;
  constexpr std::uint64_t frames = 2000;
  for (std::uint64_t n = 1; n <= frames; ++n) {
    link_down what;
    what.lane = static_cast<std::uint8_t>(n % 2);
    what.made_by_speaker = static_cast<std::uint8_t>(n / 2 % 2);
    what.from_rail = static_cast<std::uint8_t>(n % max_rails);
    what.to_rail = static_cast<std::uint8_t>(n / max_rails % max_rails);
    what.attempt = n + 1000;
    const auto one = down_of(what);
    flood.insert(flood.end(), one.begin(), one.end());
    const auto reply = down_of(what, frame_type::link_down_reply);
    flood.insert(flood.end(), reply.begin(), reply.end());
    const auto asked = probe_of(static_cast<std::uint32_t>(n));
    flood.insert(flood.end(), asked.begin(), asked.end());
  }
  i.s.say(flood);
  REQUIRE(i.w.until([&] { return i.p.left.counts().link_downs_received == frames; }));
  i.check_others_are_served();
  CHECK_FALSE(i.s.closed);
  CHECK(i.p.left.counts().links_broken == 0);
  CHECK(i.w.until([&] { return i.p.left.ep->messages_in_use() == 0; }));
  CHECK(i.peer().paths().size() <= 4);
  CHECK(i.replies() >= 1);
  // The flood comes in pieces, and at most 16 answers leave in a turn.
  CHECK(i.replies() <= frames / 2);
  CHECK(i.p.left.counts().frames_sent - before < frames + 1000);
  i.s.say(i.s.message_of(frame_type::request, 5, {3, 4, 1}));
  CHECK(i.s.hears(frame_type::reply));
}

TEST_CASE("a link_down that cannot be is a violation, and costs its connection") {
  intruded_rails i;
  i.greet();
  link_down what;
  std::string why = "a link_down of no connection";
  SECTION("an unknown lane") {
    what.lane = 2;
  }
  SECTION("an unknown rail of the speaker") {
    what.from_rail = max_rails;
  }
  SECTION("an unknown rail of the receiver") {
    what.to_rail = 255;
  }
  SECTION("more has arrived than was sent") {
    what.received = 1;
    why = "acknowledges what was never sent";
  }
  i.s.say(down_of(what));
  i.check_dropped(why);
}

TEST_CASE("the end of a connection that carries the message, or of somebody else's, ends nothing") {
  intruded_rails i;
  i.greet();
  link_down what;
  what.made_by_speaker = 1;
  what.attempt = i.s.attempts;
  i.s.say(down_of(what));
  REQUIRE(i.w.until([&] { return i.replies() == 1; }));
  CHECK_FALSE(i.s.closed);
  CHECK(i.p.left.to(2).connected_by(traffic_class::call, {0, 0}));
  i.check_others_are_served();
  CHECK(i.p.left.counts().links_ended_as_told == 0);
}

TEST_CASE("a peer that claims to come from many rails gets four connections, and others are served") {
  intruded_rails i;
  std::deque<stranger> crowd;
  std::size_t welcome = 0;
  std::size_t refused = 0;
  for (std::size_t rail = 0; rail < 2; ++rail) {
    for (std::uint8_t from = 0; from < max_rails; ++from) {
      stranger& s = crowd.emplace_back(i.w, 7);
      s.connect(i.w.address_on(1, rail));
      s.say(stranger::encoded(i.greeting(from)));
      REQUIRE(i.w.until([&] { return !s.frames.empty(); }));
      const frame_type answer = s.frames.front().header.type;
      welcome += answer == frame_type::welcome;
      refused += answer == frame_type::refuse;
      if (answer == frame_type::refuse) CHECK(s.refused().code == static_cast<std::uint16_t>(errc::busy));
    }
  }
  // A connection by a path that is preferred takes the place of another one.
  const auto open = std::ranges::count_if(crowd, [](const stranger& s) {
    return !s.closed && s.frames.front().header.type == frame_type::welcome;
  });
  CHECK(open == 4);
  CHECK(welcome == 6);
  CHECK(refused == 10);
  CHECK(i.peer().paths().size() <= 2 * max_rails);
  i.check_others_are_served();

  stranger beyond(i.w, 7);
  beyond.connect(i.w.address_on(1, 1));
  beyond.say(stranger::encoded(i.greeting(max_rails)));
  CHECK(beyond.refused().code == static_cast<std::uint16_t>(errc::malformed));
}

TEST_CASE("somebody who claims to be a connected peer, by another rail and in a later life, is refused") {
  intruded_rails i;
  stranger liar(i.w, 2);
  liar.connect(i.w.address_on(1, 1));
  identity h = liar.greeting(1, 1);
  h.known_epoch = i.p.left.to(2).epoch();
  h.from_rail = 1;
  h.attempt = 1'000'000;
  errc expected = errc::stale;
  SECTION("in a later life") {
    h.incarnation = 1'000'000;
    expected = errc::id_in_use;
  }
  SECTION("in an earlier session") {
    h.epoch = 0;
  }
  liar.say(stranger::encoded(h));
  CHECK(liar.refused().code == static_cast<std::uint16_t>(expected));
  i.check_others_are_served();
  CHECK(i.p.left.in.losses.empty());
}

TEST_CASE("a number that is far beyond what has arrived breaks the connection, on either lane") {
  intruded_rails i;
  const lane_id lane = GENERATE(lane_id::control, lane_id::bulk);
  i.greet();
  stranger other(i.w, 7);
  if (lane == lane_id::bulk) {
    other.connect(i.w.address_on(1, 0));
    other.attempts = i.s.attempts;
    identity h = other.greeting(1, 1);
    h.known_epoch = i.peer().epoch();
    h.lane = 1;
    other.say(stranger::encoded(h));
    REQUIRE(other.hears(frame_type::welcome));
  }
  stranger& s = lane == lane_id::bulk ? other : i.s;
  s.say(s.message_of(frame_type::request, 5, {3, 4, 1}, [&](frame_header& h) {
    h.sequence = 1000;
    if (lane == lane_id::bulk) h.klass = traffic_class::bulk;
  }));
  REQUIRE(s.is_dropped());
  CHECK(i.p.left.counts().links_broken == 1);
  CHECK(i.w.until([&] { return i.p.left.ep->messages_in_use() == 0; }));
  CHECK(i.p.left.in.seen.count(3) == 0);
  i.check_others_are_served();
}
