#include <algorithm>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/frame_fuzz.hpp"
#include "tests/support/tests_folder.hpp"
#include "tests/transport/session/call.hpp"
#include "tests/transport/session/stranger.hpp"
#include "transport/wire/wire.hpp"

using namespace network;

namespace {

endpoint_options hurried(node_id id) {
  endpoint_options o = options_of(id);
  o.hello_limit = 100ms;
  return o;
}

/// An address that node 7 could have; nobody connects to it.
std::string address_of_stranger(const world& on) {
  std::string at = on.address(7);
  if (at.ends_with(":0")) at.back() = '1';
  return at;
}

/// A node and a stranger that has sent it a valid greeting.
struct intruded {
  explicit intruded(world& on) : w(on), n(on, options_of(1)), s(on, 7) {
    REQUIRE(n.ep->add_peer(7, address_of_stranger(on)).has_value());
  }
  void greet() {
    s.connect(n.ep->listen_address());
    s.say(stranger::encoded(s.greeting(1)));
    REQUIRE(s.hears(frame_type::welcome));
    const auto welcome = wire::decode_from<identity>(s.frames.back().payload);
    REQUIRE(welcome.has_value());
    CHECK(welcome->node == 1);
    CHECK(welcome->target == 7);
    CHECK(welcome->known_epoch == 1);
    CHECK(welcome->known_incarnation == 1);
    s.sequence = 0;
    w.until([&] { return n.to(7).connected(traffic_class::call); });
  }
  void check_dropped(const std::string& why) {
    REQUIRE(s.is_dropped());
    CHECK_THAT(std::string(n.ep->last_violation().text()), Catch::Contains(why));
    CHECK(n.ep->statistics().links_broken == 1);
  }

  world& w;
  node n;
  stranger s;
};

/// Any type of frame that there is.
frame_type random_type(random_generator& random) {
  constexpr std::array<std::uint8_t, 13> known{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 16};
  return static_cast<frame_type>(known[random.below(known.size())]);
}

}  // namespace

TEST_CASE("a valid stranger is served", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  i.s.say(i.s.message_of(frame_type::request, 5, {1, 20, 1}));
  REQUIRE(i.s.hears(frame_type::reply));
  const auto& reply = i.s.frames.back();
  CHECK(reply.header.sequence == 1);
  CHECK(reply.header.acknowledged == 1);
  CHECK(reply.payload.size() == 20);
  CHECK(reply.header.granted[2] == i.n.ep->options().window[2] + 1);
}

TEST_CASE("a connection that says nothing is dropped after its limit", "[reactor]") {
  const auto w = any_world();
  node n(*w, hurried(1));
  stranger s(*w, 7);
  s.connect(n.ep->listen_address());
  REQUIRE(w->until([&] { return n.ep->handshakes() == 1; }));
  const time_point begun = w->ex().now();
  REQUIRE(s.is_dropped());
  CHECK(w->ex().now() - begun >= 90ms);
  CHECK(w->ex().now() - begun < 5s);
  CHECK(n.ep->handshakes() == 0);
  REQUIRE_FALSE(s.frames.empty());
  const auto r = wire::decode_from<refusal>(s.frames.back().payload);
  REQUIRE(r.has_value());
  CHECK(r->code == static_cast<std::uint16_t>(errc::deadline_exceeded));
}

TEST_CASE("connections that have not introduced themselves are bounded", "[reactor]") {
  const auto w = any_world({test::fault::haste});  // the first ones must not have timed out before the last
  endpoint_options o = hurried(1);
  o.handshake_limit = 3;
  node n(*w, o);
  node friendly(*w, options_of(2));
  introduce(n, friendly);
  std::deque<stranger> crowd;
  for (int i = 0; i < 10; ++i)
    crowd.emplace_back(*w, 20 + static_cast<node_id>(i)).connect(n.ep->listen_address());
  REQUIRE(w->until(
      [&] { return std::count_if(crowd.begin(), crowd.end(), [](auto& s) { return s.closed; }) == 7; }));
  CHECK(n.ep->handshakes() == 3);
  CHECK(n.ep->last_refusal() == errc::busy);
  CHECK(n.ep->last_refusal().text().ends_with("link.handshake_limit is 3"));
  REQUIRE(w->until([&] { return n.ep->handshakes() == 0; }));
  call c;
  REQUIRE(c.start(friendly, 1, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}

TEST_CASE("garbage costs the connection", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  const bool greeted = GENERATE(false, true);
  if (greeted) {
    i.greet();
  } else {
    i.s.connect(i.n.ep->listen_address());
  }
  i.s.say(std::vector<std::byte>(100, std::byte{0x5a}));
  i.check_dropped("magic");
  CHECK(i.n.ep->handshakes() == 0);
}

TEST_CASE("a greeting that is not a hello and an identity is refused", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  const int which = GENERATE(range(0, 9));
  i.s.connect(i.n.ep->listen_address());
  errc expected = errc::malformed;
  if (which == 0) i.s.say(i.s.message_of(frame_type::request, 5, {}));
  if (which == 1) i.s.say(stranger::encoded(i.s.greeting(1), frame_type::welcome));
  if (which == 2) {
    frame_header h;
    h.type = frame_type::hello;
    const std::uint16_t version = protocol_version;
    i.s.say(frame_of(h, {}, std::as_bytes(std::span(&version, 1))));  // ends after the version
  }
  if (which == 3) {
    identity h = i.s.greeting(1);
    h.lane = 2;
    i.s.say(stranger::encoded(h));
  }
  if (which == 4) i.s.say(stranger::encoded_as(frame_type::identity, i.s.greeting(1)));  // without a hello
  if (which > 4) i.s.say(stranger::hello_of(i.s.greeting(1)));
  if (which == 5) i.s.say(stranger::hello_of(i.s.greeting(1)));
  if (which == 6) {
    frame_header h;
    h.type = frame_type::secure;
    i.s.say(frame_of(h));
  }
  if (which == 7) {
    identity h = i.s.greeting(1);
    h.lane = 1;  // another one than the hello's
    i.s.say(stranger::encoded_as(frame_type::identity, h));
  }
  if (which == 8) {
    identity h = i.s.greeting(1);
    h.rails.resize(9);
    i.s.say(stranger::encoded_as(frame_type::identity, h));
  }
  CHECK(i.s.refused().code == static_cast<std::uint16_t>(expected));
  REQUIRE(i.s.is_dropped());
  CHECK(i.n.ep->handshakes() == 0);
}

TEST_CASE("a large frame right behind an identity is dealt with by the session, not by the greeting",
          "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.s.connect(i.n.ep->listen_address());
  identity on_bulk = i.s.greeting(1);
  on_bulk.lane = 1;
  const std::vector<std::byte> payload(3 * placed_payload_bytes);
  frame_header large;
  large.type = frame_type::request;
  large.klass = traffic_class::bulk;
  large.sequence = 1;
  std::array<std::byte, message::envelope_bytes + 33> head{};  // of no operation that there is
  head[0] = std::byte{9};
  i.s.say(stranger::encoded(on_bulk) + frame_of(large, head, payload));
  REQUIRE(i.s.hears(frame_type::reply));  // a refusal: the frame was read, and its payload had no place
  CHECK_FALSE(i.s.closed);
  CHECK(i.n.ep->statistics().links_broken == 0);
}

TEST_CASE("a security mode that nobody has is refused by name", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.s.connect(i.n.ep->listen_address());
  hello opening;
  opening.security = 3;
  i.s.say(stranger::encoded_as(frame_type::hello, opening));
  const refusal r = i.s.refused();
  CHECK(r.code == static_cast<std::uint16_t>(errc::unsupported));
  CHECK(r.node == 1);
  CHECK_THAT(r.text, Catch::Contains("security mode 3"));
}

TEST_CASE("a later version that understands this one is welcome", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.s.connect(i.n.ep->listen_address());
  hello opening;
  opening.version = protocol_version + 1;
  i.s.say(stranger::encoded_as(frame_type::hello, opening));
  i.s.say(stranger::encoded_as(frame_type::identity, i.s.greeting(1)));
  CHECK(i.s.hears(frame_type::welcome));
}

TEST_CASE("another protocol version is named at both ends", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  identity h = i.s.greeting(1);
  h.version = 999;
  i.s.connect(i.n.ep->listen_address());
  const bool longer = GENERATE(false, true);
  if (longer) {
    // The hello of a later version may have other fields after the version.
    std::array<std::byte, 2> payload{};
    std::memcpy(payload.data(), &h.version, 2);
    frame_header header;
    header.type = frame_type::hello;
    i.s.say(frame_of(header, {}, payload));
  } else {
    hello opening;
    opening.version = opening.lowest = h.version;
    i.s.say(stranger::encoded_as(frame_type::hello, opening));
  }
  const refusal r = i.s.refused();
  CHECK(r.code == static_cast<std::uint16_t>(errc::version_mismatch));
  CHECK(r.version == protocol_version);
  CHECK_THAT(r.text, Catch::Contains("999") && Catch::Contains("node 1 speaks 4"));
  CHECK(i.n.ep->last_refusal() == errc::version_mismatch);
}

TEST_CASE("a requester names what its peer answered the greeting with", "[reactor]") {
  const auto w = any_world({test::fault::haste});
  stranger s(*w, 7);
  s.listen(w->address(7));
  endpoint_options o = options_of(1);
  o.reconnect_grace = 60ms;
  o.backoff_limit = 200ms;
  o.backoff_first = 200ms;
  node n(*w, o);
  REQUIRE(n.ep->add_peer(7, s.listen_address()).has_value());
  call c;
  REQUIRE(c.start(n, 7, 1).has_value());
  REQUIRE(s.hears(frame_type::identity));
  identity h = s.greeting(1, 1);
  h.known_epoch = n.to(7).epoch();
  errc expected = errc::unreachable;
  std::string text;
  SECTION("another version") {
    h.version = 5;
    s.say(stranger::encoded(h, frame_type::welcome));
    expected = errc::version_mismatch;
    text = "speaks protocol 5";
  }
  SECTION("another node") {
    h.node = 8;
    s.say(stranger::encoded(h, frame_type::welcome));
    expected = errc::not_member;
    text = "node 8";
  }
  SECTION("an older session") {
    h.known_epoch = 77;
    s.say(stranger::encoded(h, frame_type::welcome));
    expected = errc::stale;
    text = "older session";
  }
  SECTION("an older incarnation of ours") {
    h.known_incarnation = 9;
    s.say(stranger::encoded(h, frame_type::welcome));
    expected = errc::stale;
    text = "older session";
  }
  SECTION("a refusal with text that is none") {
    refusal r;
    r.code = static_cast<std::uint16_t>(errc::not_member);
    r.text = "go \x1b[31maway\n";
    std::array<std::byte, 512> payload;
    const auto size = wire::encode_to(payload, r);
    frame_header header;
    header.type = frame_type::refuse;
    s.say(frame_of(header, {}, std::span(payload).first(*size)));
    expected = errc::not_member;
    text = "go ?[31maway?";
  }
  SECTION("a refusal that is none") {
    frame_header header;
    header.type = frame_type::refuse;
    s.say(frame_of(header));
    text = "node 7";
  }
  SECTION("something else") {
    s.say(s.message_of(frame_type::request, 1));
    text = "not answered";
  }
  SECTION("an acknowledgement of what was never sent") {
    h.received = 12;
    s.say(stranger::encoded(h, frame_type::welcome));
    expected = errc::connection_lost;  // the session had begun
    text = "never sent";
  }
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.outcome == expected);
  CHECK_THAT(std::string(c.outcome.text()), Catch::Contains(text));
  CHECK_FALSE(c.reached);
}

TEST_CASE("violations of the protocol drop the link and name the reason", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  SECTION("a gap in the sequence") {
    ++i.s.sequence;
    i.s.say(i.s.message_of(frame_type::request, 5));
    i.check_dropped("gap");
  }
  SECTION("no sequence") {
    i.s.say(i.s.message_of(frame_type::request, 5, {}, [](frame_header& h) { h.sequence = 0; }));
    i.check_dropped("gap");
  }
  SECTION("requests beyond the credit") {
    i.n.in.hold = true;
    std::vector<std::byte> all;
    const auto window = i.n.ep->options().window[2];
    for (std::uint64_t k = 0; k <= window; ++k) all = all + i.s.message_of(frame_type::request, k, {k, 0, 1});
    i.s.say(all);
    i.check_dropped("beyond its credit");
    CHECK(i.n.in.held.size() == window);
  }
  SECTION("an acknowledgement of the future") {
    i.s.acknowledged = 1;
    i.s.say(i.s.message_of(frame_type::request, 5));
    i.check_dropped("never sent");
    CHECK(i.n.in.seen.empty());
  }
  SECTION("a message on the wrong lane") {
    i.s.say(
        i.s.message_of(frame_type::request, 5, {}, [](frame_header& h) { h.klass = traffic_class::bulk; }));
    i.check_dropped("wrong lane");
  }
  SECTION("a message without envelope") {
    frame_header h;
    h.type = frame_type::request;
    h.sequence = 1;
    i.s.say(frame_of(h));
    i.check_dropped("envelope");
  }
  SECTION("a greeting in the middle") {
    i.s.say(stranger::encoded(i.s.greeting(1)));
    i.check_dropped("greeting");
  }
  SECTION("a reply to a request that was not sent") {
    call c;
    message& m = compose(*i.n.ep, {1, 0, 1}, 0);
    // Sixteen fit into the stranger's credit of eight, so the last is not sent.
    std::deque<call> sent(8);
    for (auto& s : sent) REQUIRE(s.start(i.n, 7, 1).has_value());
    REQUIRE(i.n.to(7).request(c, traffic_class::call, m, 0).has_value());
    REQUIRE(w->until([&] { return i.s.frames.size() >= 9; }));
    std::uint64_t last = 0;
    std::memcpy(&last, i.s.frames.back().head.data(), 8);
    i.s.say(i.s.message_of(frame_type::reply, last + 1));
    i.check_dropped("not sent");
    CHECK(c.pending());
    for (auto& s : sent) s.cancel();
    c.cancel();
  }
}

TEST_CASE("notices that break the protocol drop the link", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const std::array<std::byte, max_notice_head_bytes + 1> bytes{};
  const std::span head(bytes);
  frame_header h;
  h.type = frame_type::notice;
  h.sequence = 1;
  h.granted = {8, 8, 8, 8};
  SECTION("a payload") {
    i.s.say(frame_of(h, head.first(16), head.first(1)));
    i.check_dropped("a notice with a payload of 1 bytes");
  }
  SECTION("another class") {
    h.klass = traffic_class::collective;
    i.s.say(frame_of(h, head.first(16)));
    i.check_dropped("a notice of class 1");
  }
  SECTION("a head beyond the limit") {
    i.s.say(frame_of(h, head));
    i.check_dropped("a notice with a head of 193 bytes, limit 192");
  }
  SECTION("no envelope") {
    i.s.say(frame_of(h, head.first(15)));
    i.check_dropped("envelope");
  }
  SECTION("an exchange id") {
    auto named = bytes;
    named[7] = std::byte{1};
    i.s.say(frame_of(h, std::span<const std::byte>(named).first(16)));
    i.check_dropped("a notice with an exchange id");
  }
  SECTION("no sequence") {
    h.sequence = 0;
    i.s.say(frame_of(h, head.first(16)));
    i.check_dropped("gap");
  }
  SECTION("before the greeting") {
    stranger rude(*w, 8);
    rude.connect(i.n.ep->listen_address());
    rude.say(frame_of(h, head.first(16)));
    CHECK(rude.refused().code == static_cast<std::uint16_t>(errc::malformed));
  }
  SECTION("beyond the credit, which requests have taken") {
    i.n.in.hold = true;
    std::vector<std::byte> all;
    const auto window = i.n.ep->options().window[0];
    const auto urgent = [](frame_header& each) { each.klass = traffic_class::urgent; };
    for (std::uint64_t k = 0; k < window; ++k)
      all = all + i.s.message_of(frame_type::request, k, {k, 0, 1}, urgent);
    h.sequence = window + 1;
    i.s.say(all + frame_of(h, head.first(16)));
    i.check_dropped("beyond its credit");
  }
  CHECK(i.n.in.notices.empty());
}

TEST_CASE("any number of notices is taken, each once, and their credit comes back at once", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const std::array<std::byte, max_notice_head_bytes> head{};
  frame_header h;
  h.type = frame_type::notice;
  h.granted = {8, 8, 8, 8};
  const auto window = i.n.ep->options().window[0];
  std::uint64_t granted = window;
  while (h.sequence < 10U * window) {
    REQUIRE(w->until([&] {
      for (const auto& f : i.s.frames) granted = std::max<std::uint64_t>(granted, f.header.granted[0]);
      return h.sequence < granted;
    }));
    ++h.sequence;
    const auto once = frame_of(h, head);
    i.s.say(once + once);
  }
  REQUIRE(w->until([&] { return i.n.ep->statistics().duplicates == h.sequence; }));
  CHECK(i.n.in.notices.size() == h.sequence);
  CHECK(i.n.ep->statistics().links_broken == 0);
  CHECK(i.n.to(7).held_messages() == 0);
}

TEST_CASE("a cancel says why, unknown reasons are cancelled, and unknown kinds are ignored", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  i.n.in.hold = true;
  i.n.in.drop_cancelled = false;
  i.s.say(i.s.message_of(frame_type::request, 5, {1, 20, 1}));
  const auto cancel = [&](std::uint16_t kind, std::uint16_t code) {
    std::array<std::byte, message::envelope_bytes> head{std::byte{5}};
    std::memcpy(head.data() + 8, &kind, 2);
    std::memcpy(head.data() + 10, &code, 2);
    frame_header h;
    h.type = frame_type::cancel;
    h.klass = traffic_class::urgent;
    h.sequence = ++i.s.sequence;
    h.granted = {8, 8, 8, 8};
    i.s.say(frame_of(h, head));
  };
  cancel(2, 0);
  cancel(1, static_cast<std::uint16_t>(errc::peer_died));
  cancel(3, static_cast<std::uint16_t>(errc::peer_died));
  cancel(0, 0);
  cancel(0xffff, 0);
  cancel(0, 0xfffe);
  cancel(0, static_cast<std::uint16_t>(errc::deadline_exceeded));
  REQUIRE(w->until([&] { return i.n.in.cancelled == 4; }));
  w->pass(5ms);
  CHECK(i.n.in.cancelled == 4);
  CHECK(i.n.in.aborted == 1);
  CHECK(i.n.in.reasons ==
        std::vector{errc::peer_died, errc::cancelled, errc::cancelled, errc::deadline_exceeded});
  i.n.in.drop_all();
}

TEST_CASE("replies nobody waits for and cancels of nothing are harmless", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  i.s.say(i.s.message_of(frame_type::reply, 0xffffffffffffffff));
  i.s.say(i.s.message_of(frame_type::cancel, 12345));
  i.s.say(i.s.message_of(frame_type::reply, 0));
  i.s.say(i.s.message_of(frame_type::request, 5, {3, 4, 1}));
  REQUIRE(i.s.hears(frame_type::reply));
  CHECK(i.n.ep->statistics().late_replies == 2);
  CHECK(i.n.ep->statistics().links_broken == 0);
}

TEST_CASE("frames that come twice are counted and not delivered", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const auto once = i.s.message_of(frame_type::request, 5, {3, 4, 1});
  i.s.say(once + once + once);
  REQUIRE(w->until([&] { return i.n.ep->statistics().duplicates == 2; }));
  CHECK(i.n.in.seen[3] == 1);
  CHECK(i.n.ep->statistics().replies_sent <= 1);
}

TEST_CASE("a request that comes again is acknowledged again and runs no second time", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const auto once = i.s.message_of(frame_type::request, 5, {3, 4, 1});
  i.s.say(once);
  REQUIRE(i.s.hears(frame_type::reply));
  // The reply has acknowledged the request, so nothing else makes the node say it again.
  const std::uint64_t said = i.s.frames.back().header.acknowledged;
  REQUIRE(said == 1);
  for (int again = 0; again < 3; ++again) {
    i.s.frames.clear();
    i.s.say(once);
    REQUIRE(i.s.hears(frame_type::acknowledge));
    REQUIRE(i.s.frames.back().header.acknowledged == said);
  }
  CHECK(i.n.in.seen[3] == 1);
  CHECK(i.n.ep->statistics().duplicates == 3);
}

TEST_CASE("a hello that comes late does not displace a later connection", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const auto late = [&] {
    identity h = i.s.greeting(1);
    h.attempt = 1;
    return stranger::encoded(h);
  }();
  stranger again(*w, 7);
  again.connect(i.n.ep->listen_address());
  again.say(late);
  CHECK(again.refused().code == static_cast<std::uint16_t>(errc::already_exists));
  CHECK_FALSE(i.s.closed);
  i.s.say(i.s.message_of(frame_type::request, 5, {3, 4, 1}));
  CHECK(i.s.hears(frame_type::reply));
}

TEST_CASE("a peer that never acknowledges holds bounded memory", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  i.greet();
  const auto window = i.n.ep->options().window[2];
  std::uint64_t granted = window;
  std::uint64_t sent = 0;
  // The stranger sends as long as it has credit, reads the replies, and acknowledges none.
  for (int idle = 0; idle < 5;) {
    if (sent < granted) {
      i.s.say(i.s.message_of(frame_type::request, sent, {sent, 8, 1}));
      ++sent;
      idle = 0;
    } else {
      w->pass(30ms);
      ++idle;
    }
    for (auto& f : i.s.frames) granted = std::max<std::uint64_t>(granted, f.header.granted[2]);
  }
  CHECK(sent >= 2 * window);
  CHECK(sent <= 3 * window);
  CHECK(i.n.to(7).held_messages() <= 3 * window);
  // Once it acknowledges, it is served again.
  i.s.acknowledged = i.s.frames.back().header.sequence;
  for (auto& f : i.s.frames) i.s.acknowledged = std::max(i.s.acknowledged, f.header.sequence);
  frame_header h;
  h.acknowledged = i.s.acknowledged;
  i.s.say(frame_of(h));
  REQUIRE(w->until([&] { return i.s.frames.back().header.granted[2] >= sent + window / 2; }));
  CHECK(i.n.to(7).held_messages() == 0);
}

TEST_CASE("a stream that ends within a frame costs that connection only", "[reactor]") {
  const auto w = any_world();
  intruded i(*w);
  const auto greeting = stranger::encoded(i.s.greeting(1));
  const std::size_t step = 13;
  for (std::size_t at = 0; at < greeting.size(); at += step) {
    stranger s(*w, 8);
    s.connect(i.n.ep->listen_address());
    s.say(std::span(greeting).first(at));
    s.hang_up();
  }
  REQUIRE(w->until([&] { return i.n.ep->handshakes() == 0; }));
  i.greet();
  const auto request = i.s.message_of(frame_type::request, 5, {3, 4, 1});
  for (std::size_t at = 0; at < request.size(); at += step) {
    i.s.say(std::span(request).first(at));
    i.s.hang_up();
    REQUIRE(w->until([&] { return !i.n.to(7).connected(traffic_class::call); }));
    identity h = i.s.greeting(1, 1);
    h.known_epoch = i.n.to(7).epoch();
    i.s.connect(i.n.ep->listen_address());
    i.s.say(stranger::encoded(h));
    REQUIRE(i.s.hears(frame_type::welcome));
  }
  i.s.say(request);
  REQUIRE(i.s.hears(frame_type::reply));
  CHECK(i.n.in.seen[3] == 1);
  CHECK(i.n.in.losses.empty());
}

TEST_CASE("every altered byte is noticed, and what it spoilt is sent again") {
  // This is the whole conversation of two nodes; byte `at` of it is altered on its way.
  std::size_t total = 0;
  const auto run = [&](std::size_t at) {
    memory_world w;
    std::size_t passed = 0;
    w.net.set_tamper([&](std::uint32_t, std::uint32_t, std::span<std::byte> bytes) {
      if (at >= passed && at < passed + bytes.size()) bytes[at - passed] ^= std::byte{0x20};
      passed += bytes.size();
      return true;
    });
    node a(w, options_of(1));
    node b(w, options_of(2));
    introduce(a, b);
    std::deque<call> calls(3);
    for (std::uint64_t k = 0; k < 3; ++k) REQUIRE(calls[k].start(a, 2, k, 30).has_value());
    call back;
    INFO("byte " << at);
    REQUIRE(w.until(
        [&] { return std::all_of(calls.begin(), calls.end(), [](call& c) { return c.ends == 1; }); }));
    REQUIRE(back.start(b, 1, 9, 10).has_value());
    REQUIRE(w.until([&] { return back.ends == 1; }));
    w.pass(100ms);
    for (auto& c : calls) CHECK(c.answered());
    CHECK(back.answered());
    CHECK(b.in.damaged + a.in.damaged == 0);
    for (const auto& [number, times] : b.in.seen) CHECK(times == 1);
    CHECK(b.in.seen.size() == 3);
    CHECK(a.in.losses.empty());
    CHECK(b.in.losses.empty());
    const auto broken = a.ep->statistics().links_broken + b.ep->statistics().links_broken;
    CHECK(broken == (at < total ? 1 : 0));
    return passed;
  };
  total = run(SIZE_MAX);
  CHECK(total > 500);
  for (std::size_t at = 0; at < total; ++at) run(at);
}

TEST_CASE("random bytes behind a valid beginning never do harm") {
  int dropped = 0;
  int kept = 0;
  int served = 0;
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    INFO("seed " << seed);
    memory_world w;
    intruded i(w);
    node friendly(w, options_of(2));
    introduce(i.n, friendly);
    random_generator random(seed);
    i.greet();
    bool parted = false;
    for (int k = 0; k < 5 && !i.s.closed; ++k) {
      const bool wild = random.chance(1, 3);
      const auto type = wild ? random_type(random) : frame_type::request;
      parted = parted || type == frame_type::goodbye;
      auto frame = i.s.message_of(type, random.below(4),
                                  {random.next(), 100, static_cast<std::uint32_t>(random.below(3))},
                                  [&](frame_header& h) {
                                    if (!wild) return;
                                    h.klass = static_cast<traffic_class>(random.below(4));
                                    if (random.chance(1, 4)) h.sequence = random.below(6);
                                    if (random.chance(1, 4)) h.acknowledged = random.below(3);
                                    if (random.chance(1, 4))
                                      h.granted = {static_cast<std::uint32_t>(random.next()), 1, 2, 3};
                                  });
      if (random.chance(1, 8)) frame[random.below(frame.size())] = static_cast<std::byte>(random.next());
      i.s.say(frame);
      if (random.chance(1, 3)) w.pass(1ms);
    }
    w.pass(3s);
    const auto& counted = i.n.ep->statistics();
    (i.s.closed ? dropped : kept) += 1;
    served += static_cast<int>(i.n.in.seen.size());
    // Each dropped link was dropped for a reason, and nothing else broke.
    const bool broken = counted.links_broken != 0;
    CHECK(counted.links_broken <= 1);
    CHECK(i.s.closed == (broken || parted));
    CHECK(broken == static_cast<bool>(i.n.ep->last_violation()));
    CHECK(i.n.in.damaged == 0);
    for (const auto& [number, times] : i.n.in.seen) CHECK(times == 1);
    CHECK(i.n.in.held.empty());
    CHECK(i.n.to(7).held_messages() <= 10);  // five requests of two replies at most
    call other;
    REQUIRE(other.start(friendly, 1, 1).has_value());
    REQUIRE(w.until([&] { return other.ends == 1; }));
    CHECK(other.answered());
  }
  CHECK(dropped > 100);
  CHECK(kept > 10);
  CHECK(served > 200);
}

TEST_CASE("the fuzzer's frames and what grows from them by chance") {
  const auto folder = test::tests_folder() / "fuzz/corpus/frame";
  std::vector<std::filesystem::path> files;
  for (const auto& file : std::filesystem::directory_iterator(folder)) files.push_back(file.path());
  std::sort(files.begin(), files.end());
  REQUIRE(files.size() >= 10);
  random_generator random(11);
  for (const auto& path : files) {
    INFO(path);
    std::ifstream file(path, std::ios::binary);
    const std::vector<std::uint8_t> data{std::istreambuf_iterator<char>(file),
                                         std::istreambuf_iterator<char>()};
    fuzz::frame_input(data);
    for (int round = 0; round < 60; ++round) {
      auto altered = data;
      altered[random.below(altered.size())] = static_cast<std::uint8_t>(random.next());
      if (random.chance(1, 3)) altered.resize(random.below(altered.size()));
      fuzz::frame_input(altered);
    }
  }
}
