#include <memory>
#include <string>

#include "tests/transport/session/call.hpp"
#include "tests/transport/session/session_pair.hpp"
#include "tests/transport/session/stranger.hpp"
#include "transport/session/prober.hpp"
#include "transport/wire/wire.hpp"

// What happens when a second server claims the id of one that is there.
using namespace network;

namespace {

constexpr const char* elsewhere = "mem://elsewhere";

/// Node 1 in a session with node 7, and another server that says that it is node 7.
struct contest {
  explicit contest(memory_world& on) : w(on), n(on, options_of(1)), real(on, 7), other(on, 9) {
    REQUIRE(n.ep->add_peer(7, on.address(7)).has_value());
    other.self = 7;
    real.connect(n.ep->listen_address());
    real.say(stranger::encoded(real.greeting(1)));
    REQUIRE(real.hears(frame_type::welcome));
  }
  /// The other server introduces itself, and says that it listens at `address`.
  void claim(const std::string& address, std::uint64_t incarnation = 2) {
    if (other.linked()) other.hang_up();
    identity h = other.greeting(1);
    h.incarnation = incarnation;
    if (!address.empty()) h.rails.push_back({.address = address});
    other.connect(n.ep->listen_address());
    other.say(stranger::encoded(h));
  }
  bool welcomed() { return other.hears(frame_type::welcome); }
  /// The real one answers the latest probe.
  void answer() {
    REQUIRE(real.hears(frame_type::probe));
    frame_header header;
    header.type = frame_type::probe_reply;
    real.say(frame_of(header, {}, real.frames.back().payload));
    real.frames.clear();
    w.pass(1ms);
  }

  memory_world& w;
  node n;
  stranger real;
  stranger other;
};

}  // namespace

TEST_CASE("a second server with the id of one that answers is refused") {
  memory_world w;
  contest c(w);
  for (int i = 0; i < 12; ++i) {
    c.claim(elsewhere);
    const refusal r = c.other.refused();
    CHECK(r.code == static_cast<std::uint16_t>(errc::id_in_use));
    CHECK_THAT(r.text, Catch::Contains("node id 7 is in use at " + w.address(7)) &&
                           Catch::Contains(std::string(elsewhere) + " claims it"));
    CHECK(c.n.ep->last_refusal() == errc::id_in_use);
    c.answer();
    w.pass(1s);
  }
  CHECK(c.n.to(7).peer_incarnation() == 1);
  CHECK(c.n.ep->statistics().links_refused == 12);
  CHECK(c.n.ep->statistics().sessions_lost == 0);
  CHECK_FALSE(c.real.closed);
}

TEST_CASE("a server whose id is claimed and that does not answer gives way after three seconds") {
  memory_world w;
  contest c(w);
  const time_point began = w.ex().now();
  do {
    c.claim(elsewhere);
    w.pass(100ms);
  } while (!c.welcomed() && w.ex().now() - began < 5s);
  CHECK(c.welcomed());
  CHECK(w.ex().now() - began >= 3s);
  CHECK(w.ex().now() - began < 3500ms);
  CHECK(c.n.to(7).peer_incarnation() == 2);
  CHECK(c.real.closed);
  CHECK(c.n.in.losses.size() == 1);
}

TEST_CASE("a server that comes back at its address need not wait") {
  memory_world w;
  contest c(w);
  SECTION("the one that the peer was given") {
    c.claim(w.address(7));
  }
  SECTION("the same, with the transport's name") {
    c.claim("any://" + w.address(7));
  }
  SECTION("the one that it told before, as one that tells none") {
    c.claim("");
  }
  SECTION("another one, after its connection has broken") {
    c.real.hang_up();
    REQUIRE(w.until([&] { return !c.n.to(7).connected(traffic_class::call); }));
    c.claim(elsewhere);
  }
  CHECK(c.welcomed());
  CHECK(c.n.to(7).peer_incarnation() == 2);
}

TEST_CASE("a requester whose id is in use is told so", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node server(w, options_of(1));
  node real(w, options_of(2));
  introduce(server, real);
  call first;
  REQUIRE(first.start(real, 1, 1).has_value());
  REQUIRE(w.until([&] { return first.ends == 1; }));

  endpoint_options o = options_of(2);
  o.incarnation = 9;
  o.advertise = elsewhere;
  node second(w, o);
  REQUIRE(second.ep->add_peer(1, server.ep->listen_address()).has_value());
  call c;
  REQUIRE(c.start(second, 1, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.outcome == errc::id_in_use);
  CHECK_THAT(std::string(c.outcome.text()), Catch::Contains("in use"));
  CHECK(second.ep->last_refusal() == errc::id_in_use);

  call again;
  REQUIRE(again.start(real, 1, 2).has_value());
  REQUIRE(w.until([&] { return again.ends == 1; }));
  CHECK(again.outcome == errc::ok);
}
