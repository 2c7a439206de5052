#include <deque>
#include <string>
#include <vector>

#include "tests/transport/memory/transfers.hpp"
#include "tests/transport/session/call.hpp"
#include "tests/transport/session/stranger.hpp"

// Clients: nodes that no server lists, and that only connect.
using namespace network;

namespace {

constexpr node_id client_id(node_id number) {
  return client_bit | number;
}

endpoint_options client_options(node_id number, std::uint64_t incarnation = 1) {
  endpoint_options o = options_of(client_id(number), incarnation);
  o.client = true;
  return o;
}

/// Node 1, and a client that knows it.
struct served {
  explicit served(world& on, const endpoint_options& server_options = options_of(1),
                  const endpoint_options& options = client_options(5))
      : w(on), server(on, server_options), client(on, options) {
    client.knows(server);
  }
  node_id id() const { return client.id; }
  std::size_t places() { return server.ep->usage().clients.used; }
  bool ask(std::uint64_t number, traffic_class klass = traffic_class::call) {
    call c;
    REQUIRE(c.start(client, 1, number, 8, klass).has_value());
    REQUIRE(w.until([&] { return c.ends == 1; }));
    last = c.outcome;
    return c.answered();
  }

  world& w;
  node server;
  node client;
  error last;
};

}  // namespace

TEST_CASE("a node that nobody lists calls a server", "[reactor]") {
  const auto w = any_world();
  served s(*w);
  const bool answered = s.ask(1);
  INFO(describe(s.last));
  REQUIRE(answered);
  REQUIRE(s.server.ep->find(s.id()) != nullptr);
  CHECK(s.server.to(s.id()).with_client());
  CHECK_FALSE(s.server.to(s.id()).address().empty());
  CHECK(s.places() == 1);
  SECTION("and the server calls it") {
    call back;
    REQUIRE(back.start(s.server, s.id(), 2).has_value());
    REQUIRE(w->until([&] { return back.ends == 1; }));
    CHECK(back.answered());
    CHECK(s.client.in.seen[2] == 1);
  }
  SECTION("its place is free when it has said goodbye") {
    transfers::started<status> drained(w->ex(), s.client.ep->drain(1s));
    REQUIRE(w->until([&] { return drained.done(); }));
    CHECK(*drained);
    CHECK(w->until([&] { return s.places() == 0; }));
    CHECK(s.server.ep->find(s.id()) == nullptr);
  }
}

TEST_CASE("a client takes part in no collective") {
  memory_world w;
  served s(w);
  CHECK_FALSE(s.ask(1, traffic_class::collective));
  CHECK(s.last == errc::not_member);
  CHECK_FALSE(s.ask(2, traffic_class::urgent));
  CHECK(s.server.in.seen.empty());
  CHECK(s.client.ep->listen(w.address(5)).error() == errc::invalid_argument);
  CHECK(s.server.ep->add_peer(client_id(9), w.address(9)).error() == errc::invalid_argument);
}

TEST_CASE("the id of a client, and the flag, go together") {
  endpoint_options o = options_of(client_id(1));
  CHECK(o.validate().error() == errc::invalid_argument);
  o.client = true;
  CHECK(o.validate().has_value());
  o.self = 7;
  CHECK(o.validate().error() == errc::invalid_argument);

  memory_world w;
  node n(w, options_of(1));
  stranger s(w, 7);
  s.connect(n.ep->listen_address());
  identity h = s.greeting(1);
  const bool flagged = GENERATE(false, true);
  h.flags = flagged ? identity_flags::client : 0;
  h.node = flagged ? 7 : client_id(7);
  s.say(stranger::encoded(h));
  CHECK(s.refused().code == static_cast<std::uint16_t>(errc::malformed));
}

TEST_CASE("a server has places for so many clients", "[reactor]") {
  const auto w = any_world();
  endpoint_options o = options_of(1);
  o.clients = 2;
  node server(*w, o);
  std::deque<node> clients;
  for (node_id i = 0; i < 3; ++i) {
    node& each = clients.emplace_back(*w, client_options(10 + i));
    each.knows(server);
    call c;
    REQUIRE(c.start(each, 1, i).has_value());
    REQUIRE(w->until([&] { return c.ends == 1; }));
    if (i < 2) {
      CHECK(c.answered());
    } else {
      CHECK(c.outcome == errc::busy);
      CHECK_THAT(std::string(c.outcome.text()), Catch::Contains("link.clients is 2"));
    }
  }
  CHECK(server.ep->usage().clients.used == 2);
  clients[0].stop();
  REQUIRE(w->until([&] { return server.ep->usage().clients.used == 1; }, 10s));
  call c;
  REQUIRE(c.start(clients[2], 1, 7).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}

TEST_CASE("a server reads and writes the memory of a client", "[reactor]") {
  const auto w = any_bulk_world();
  served s(*w);
  constexpr std::size_t size = (3U << 20U) + 17;
  transfers::fenced memory(transfers::made(size, 1));
  auto region = memory_region::expose(*s.client.ep, memory.memory(), memory_access::read_write);
  REQUIRE(region.has_value());
  CHECK(region->descriptor().node == s.id());
  s.server.in.hold = true;
  call c;
  REQUIRE(c.start(s.client, 1, 1).has_value());
  REQUIRE(w->until([&] { return s.server.in.held.size() == 1; }));
  transfers::fenced copy(size);
  REQUIRE(transfers::finish(*w, transport::pull(*s.server.ep, region->descriptor(), 0, copy.memory(), {}))
              .has_value());
  CHECK(copy.holds(memory.memory()));
  const auto fresh = transfers::made(size, 2);
  REQUIRE(transfers::finish(*w, transport::push(*s.server.ep, region->descriptor(), 0, std::span(fresh), {}))
              .has_value());
  CHECK(memory.holds(fresh));
  s.server.in.answer_all();
  REQUIRE(w->until([&] { return c.ends == 1; }));
  SECTION("the client reads that of the server as well") {
    auto there = memory_region::expose(*s.server.ep, copy.memory(), memory_access::read);
    REQUIRE(there.has_value());
    transfers::fenced back(size);
    REQUIRE(transfers::finish(*w, transport::pull(*s.client.ep, there->descriptor(), 0, back.memory(), {}))
                .has_value());
    CHECK(back.holds(copy.memory()));
  }
}

TEST_CASE("a client whose connection breaks comes back to its session") {
  memory_world w;
  served s(w);
  s.server.in.hold = true;
  call c;
  REQUIRE(c.start(s.client, 1, 1).has_value());
  REQUIRE(w.until([&] { return s.server.in.held.size() == 1; }));
  w.net.cut(w.host_of(1), w.host_of(5));
  w.pass(300ms);
  s.server.in.answer_all();
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  CHECK(s.server.in.losses.empty());
  CHECK(s.places() == 1);
}

TEST_CASE("the server waits for a client that it owes an answer no longer than the grace") {
  memory_world w;
  served s(w);
  s.server.in.hold = true;
  call c;
  REQUIRE(c.start(s.client, 1, 1).has_value());
  REQUIRE(w.until([&] { return s.server.in.held.size() == 1; }));
  const time_point began = w.ex().now();
  w.part(1, 5);
  REQUIRE(w.until([&] { return s.server.in.losses.size() == 1; }));
  CHECK(w.ex().now() - began <= options_of(1).reconnect_grace + 100ms);
  CHECK(s.server.in.losses[0] == errc::connection_lost);
  // The handler still has the request, so the session is still there.
  w.pass(10s);
  CHECK(s.places() == 1);
  s.server.in.drop_all();
  w.pass(3s);
  CHECK(s.places() == 0);
  CHECK(c.ends == 1);
}

TEST_CASE("an idle client is asked whether it is there") {
  memory_world w;
  served s(w);
  REQUIRE(s.ask(1));
  w.pass(60s);
  CHECK(s.places() == 1);
  CHECK(s.server.ep->statistics().probes_answered > 20);
  SECTION("one that has gone without a word loses its place within the silence limit") {
    w.freeze(5);
    const time_point began = w.ex().now();
    REQUIRE(w.until([&] { return s.places() == 0; }, 20s));
    CHECK(w.ex().now() - began <= options_of(1).silence_limit);
    CHECK(w.ex().now() - began >= options_of(1).silence_limit / 2);
    CHECK(s.server.ep->statistics().clients_silent == 1);
    CHECK(s.server.ep->statistics().clients_gone == 1);
    w.thaw(5);
    w.pass(1ms);
    CHECK(s.ask(2));  // in a new session
    CHECK(s.places() == 1);
  }
  SECTION("one whose connection has broken loses it sooner") {
    w.part(1, 5);
    REQUIRE(w.until([&] { return s.places() == 0; }, 10s));
    w.join(1, 5);
    CHECK(s.ask(2));
    CHECK(s.places() == 1);
  }
}

TEST_CASE("a client that comes back after its place was given away begins a new session each time") {
  memory_world w;
  served s(w);
  for (std::uint64_t i = 0; i < 5; ++i) {
    REQUIRE(s.ask(2 * i));
    w.part(1, 5);
    // The first time its own session lives on, afterwards it has noticed and given it up.
    if (i % 2 == 1) CHECK_FALSE(s.ask(2 * i + 1));
    REQUIRE(w.until([&] { return s.places() == 0; }, 10s));
    w.join(1, 5);
  }
  REQUIRE(s.ask(100));
  CHECK(s.server.in.seen[100] == 1);
  CHECK(s.server.ep->statistics().links_broken == 0);
  CHECK(s.client.ep->statistics().links_broken == 0);
}

TEST_CASE("clients that come and go leave nothing behind", "[reactor]") {
  const auto w = any_bulk_world();
  node server(*w, options_of(1));
  transfers::fenced memory(transfers::made(100000, 1));
  auto region = memory_region::expose(*server.ep, memory.memory(), memory_access::read);
  REQUIRE(region.has_value());
  for (node_id i = 0; i < 12; ++i) {
    node each(*w, client_options(20 + i % 3, i + 1));
    each.knows(server);
    transfers::fenced copy(100000);
    REQUIRE(transfers::finish(*w, transport::pull(*each.ep, region->descriptor(), 0, copy.memory(), {}))
                .has_value());
  }
  REQUIRE(w->until([&] { return server.ep->usage().clients.used == 0; }, 12s));
  REQUIRE(w->until([&] { return server.ep->messages_in_use() == 0; }));
}

TEST_CASE("a client that connects and says nothing more costs its place and nothing else") {
  memory_world w;
  endpoint_options o = options_of(1);
  o.clients = 3;
  served s(w, o);
  std::deque<stranger> mute;
  for (node_id i = 0; i < 2; ++i) {
    stranger& each = mute.emplace_back(w, 7 + i);
    each.self = client_id(7 + i);
    each.connect(s.server.ep->listen_address());
    identity h = each.greeting(1);
    h.flags = identity_flags::client;
    each.say(stranger::encoded(h));
    REQUIRE(each.hears(frame_type::welcome));
  }
  CHECK(s.places() == 2);
  for (std::uint64_t i = 0; i < 100; ++i) REQUIRE(s.ask(i));
  REQUIRE(w.until([&] { return s.places() == 1; }, 20s));  // they answered no probes
}

TEST_CASE("a node is found by its address", "[reactor]") {
  const auto w = any_world();
  node server(*w, options_of(1));
  node client(*w, client_options(5));
  const std::string address = server.ep->listen_address();
  const auto found = transfers::finish(*w, client.ep->find_node(address));
  REQUIRE(found.has_value());
  CHECK(*found == 1);
  CHECK(server.ep->usage().clients.used == 0);  // a question takes no place
  CHECK(server.ep->statistics().links_refused == 0);
  call c;
  REQUIRE(c.start(client, 1, 1).has_value());
  REQUIRE(w->until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  SECTION("and is not asked again while it is connected") {
    w->pass(100ms);  // the last acknowledgement
    const auto frames = server.ep->statistics().frames_received;
    CHECK(*transfers::finish(*w, client.ep->find_node(address)) == 1);
    CHECK(server.ep->statistics().frames_received == frames);
  }
  SECTION("of another cluster") {
    endpoint_options o = client_options(6);
    o.cluster = "other";
    node stray(*w, o);
    const auto none = transfers::finish(*w, stray.ep->find_node(address));
    CHECK(none.error() == errc::wrong_cluster);
  }
  SECTION("of nobody") {
    server.stop();
    REQUIRE(w->until([&] { return !client.to(1).connected(traffic_class::call); }));
    const auto none = transfers::finish(*w, client.ep->find_node(address));
    CHECK_FALSE(none.has_value());
  }
  SECTION("of nothing that can be one") {
    CHECK(transfers::finish(*w, client.ep->find_node("")).error() == errc::invalid_argument);
  }
}
