#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/name_table.hpp"
#include "tests/transport/session/call.hpp"

using namespace network;
using Catch::Matchers::Contains;
using scoll::test::name_table;

namespace {

/// Endpoints on TCP over IPv4 whose names are resolved by a table.
struct named_world {
  explicit named_world(tcp_world::family family = tcp_world::family::v4) : w(family) {
    w.options.resolve = names.function();
  }
  name_table names;
  tcp_world w;
};

std::string port_of(const node& n) {
  const std::string at = n.ep->listen_address();
  return at.substr(at.rfind(':'));
}

endpoint_options very_hasty(node_id id, std::uint64_t incarnation = 1) {
  endpoint_options o = options_of(id, incarnation);
  o.reconnect_grace = 200ms;
  o.backoff_limit = 20ms;
  return o;
}

/// Makes a call from `a` to node 2 and waits for its end.
error outcome_of_call(world& w, node& a, std::uint64_t number = 1) {
  call c;
  REQUIRE(c.start(a, 2, number).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK((c.outcome || c.answered()));
  return c.outcome;
}

/// Takes one connection attempt of a bare rail.
struct attempt final : connect_events {
  void on_connected(transport::link& l) noexcept override {
    ++connected;
    l.close();
  }
  void on_connect_failed(const error& reason) noexcept override {
    ++failed;
    why = reason;
  }
  int connected = 0;
  int failed = 0;
  error why;
};

/// A listener that takes no more connections: its queue is full, so further attempts are not answered.
class deaf_listener {
 public:
  explicit deaf_listener(const std::string& address)
      : fd_(open_listener(socket_address::parse(address).value(), 0).value()) {
    const socket_address at = local_address(fd_.get()).value();
    for (int i = 0; i < 4; ++i) {
      unique_fd& guest =
          guests_.emplace_back(::socket(at.family(), SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int begun = ::connect(guest.get(), at.data(), at.size());
      REQUIRE((begun == 0 || errno == EINPROGRESS));
    }
  }

 private:
  unique_fd fd_;
  std::vector<unique_fd> guests_;
};

}  // namespace

TEST_CASE("a peer is reached by the name of its host", "[reactor]") {
  const bool v6 = GENERATE(false, true);
  named_world on(v6 ? tcp_world::family::v6 : tcp_world::family::v4);
  node a(on.w, options_of(1));
  node b(on.w, options_of(2));
  on.names.set("storage-2", {v6 ? "[::1]" : "127.1.0.2"});
  b.knows(a);
  const bool with_transport = GENERATE(false, true);
  const std::string address = (with_transport ? "tcp://storage-2" : "storage-2") + port_of(b);
  REQUIRE(a.ep->add_peer(2, address).has_value());
  CHECK(on.names.asked() == 0);
  CHECK_FALSE(outcome_of_call(on.w, a));
  CHECK(on.names.asked() == 1);
}

TEST_CASE("localhost is resolved by the system", "[reactor]") {
  const bool v6 = GENERATE(false, true);
  tcp_world w(v6 ? tcp_world::family::v6 : tcp_world::family::v4);
  const auto known = resolve_host("localhost");
  REQUIRE(known);
  const int family = v6 ? AF_INET6 : AF_INET;
  if (std::ranges::none_of(*known, [&](const auto& each) { return each.family() == family; })) {
    WARN("localhost has no address of family " << family << " here");
    return;
  }
  node a(w, options_of(1));
  node b(w, options_of(2), v6 ? "[::1]:0" : "127.0.0.1:0");
  b.knows(a);
  REQUIRE(a.ep->add_peer(2, "localhost" + port_of(b)).has_value());
  CHECK_FALSE(outcome_of_call(w, a));
}

TEST_CASE("a name that cannot be resolved makes the peer unreachable, until it can be", "[reactor]") {
  named_world on;
  node a(on.w, very_hasty(1));
  node b(on.w, options_of(2));
  b.knows(a);
  const std::string address = "storage-7" + port_of(b);
  REQUIRE(a.ep->add_peer(2, address).has_value());
  CHECK(outcome_of_call(on.w, a) ==
        make_error(errc::unreachable, "node 2 at {}: the name cannot be resolved: no such host", address));
  CHECK(on.names.asked() > 1);  // once for each attempt
  on.names.set("storage-7", {});
  CHECK(outcome_of_call(on.w, a, 2) ==
        make_error(errc::unreachable, "node 2 at {}: the name has no address", address));
  on.names.set("storage-7", {"127.1.0.2"});
  CHECK_FALSE(outcome_of_call(on.w, a, 3));
}

TEST_CASE("the addresses of a name are tried in order", "[reactor]") {
  named_world on;
  node a(on.w, very_hasty(1));
  node b(on.w, options_of(2));
  b.knows(a);
  REQUIRE(a.ep->add_peer(2, "storage-2" + port_of(b)).has_value());
  on.names.set("storage-2", {"127.1.0.77", "[::1]", "127.1.0.2", "127.1.0.78"});
  CHECK_FALSE(outcome_of_call(on.w, a));
  CHECK(on.names.asked() == 1);
}

TEST_CASE("if none of a name's addresses can be connected to, the text names the last", "[reactor]") {
  named_world on;
  node a(on.w, very_hasty(1));
  node b(on.w, options_of(2));
  REQUIRE(a.ep->add_peer(2, "storage-2" + port_of(b)).has_value());
  on.names.set("storage-2", {"127.1.0.77", "127.1.0.78"});
  const error why = outcome_of_call(on.w, a);
  CHECK(why == errc::unreachable);
  CHECK_THAT(std::string(why.text()), Contains("node 2 at storage-2:") &&
                                          Contains("connect to 127.1.0.78" + port_of(b)) &&
                                          Contains("refused"));
}

TEST_CASE("an address that does not answer leaves time for the next", "[reactor]") {
  named_world on;
  on.w.options.connect_limit = 400ms;
  node a(on.w, options_of(1));
  node b(on.w, options_of(2));
  b.knows(a);
  const deaf_listener deaf("127.1.0.77" + port_of(b));
  on.names.set("storage-2", {"127.1.0.77", "127.1.0.2"});
  REQUIRE(a.ep->add_peer(2, "storage-2" + port_of(b)).has_value());
  CHECK_FALSE(outcome_of_call(on.w, a));
  CHECK(on.names.asked() == 1);
}

TEST_CASE("a name whose address has changed is followed when the connection is made again", "[reactor]") {
  named_world on;
  node a(on.w, options_of(1));
  std::optional<node> b(std::in_place, on.w, options_of(2, 1));
  const std::string port = port_of(*b);
  b->knows(a);
  on.names.set("storage-2", {"127.1.0.2"});
  REQUIRE(a.ep->add_peer(2, "storage-2" + port).has_value());
  CHECK_FALSE(outcome_of_call(on.w, a));
  b.reset();
  on.names.set("storage-2", {"127.1.0.77"});
  b.emplace(on.w, options_of(2, 2), "127.1.0.77" + port);
  b->knows(a);
  REQUIRE(on.w.until([&] { return !a.to(2).connected(traffic_class::call); }));
  CHECK_FALSE(outcome_of_call(on.w, a, 2));
  CHECK(a.to(2).peer_incarnation() == 2);
  CHECK(b->in.seen.size() == 1);
}

TEST_CASE("a look-up counts towards the limit of the attempt", "[reactor]") {
  named_world on;
  on.w.options.connect_limit = 30ms;
  on.names.hold();
  const auto r = on.w.make_rail(1);
  attempt one;
  r->connect("storage-2:7001", one);
  REQUIRE(on.w.until([&] { return one.failed == 1; }));
  CHECK(one.why == error(errc::unreachable, "resolving the name took too long"));
  CHECK(r->open() == 0);
}

TEST_CASE("a rail may be destroyed while a name is being resolved for attempts that were cancelled",
          "[reactor]") {
  name_table names;
  {
    tcp_world w(tcp_world::family::v4);
    w.options.resolve = names.function();
    names.hold();
    const auto r = w.make_rail(1);
    attempt waiting[3];
    for (int i = 0; i < 3; ++i) r->connect("storage-" + std::to_string(i % 2) + ":7001", waiting[i]);
    names.await_asked(2);
    CHECK(r->open() == 3);
    for (attempt& each : waiting) r->cancel_connect(each);
    CHECK(r->open() == 0);
    w.run_ready();
    for (const attempt& each : waiting) CHECK(each.connected + each.failed == 0);
  }
  names.release();
}

TEST_CASE("a node ends at once although a name is being resolved", "[reactor]") {
  named_world on;
  on.names.hold();
  call c;
  {
    node a(on.w, options_of(1));
    REQUIRE(a.ep->add_peer(2, "storage-2:7001").has_value());
    REQUIRE(c.start(a, 2, 1).has_value());
    REQUIRE(on.w.until([&] { return on.names.asked() == 1; }));
    CHECK(c.pending());
  }
  CHECK(c.ends == 1);
  CHECK(c.outcome == errc::closed);
}

TEST_CASE("cancelling at any moment of a look-up leaves nothing open", "[reactor]") {
  named_world on;
  on.names.set("storage-2", {"127.1.0.77", "127.1.0.78"});
  const auto r = on.w.make_rail(1);
  std::deque<attempt> all(200);
  for (std::size_t i = 0; i < all.size(); ++i) {
    r->connect("storage-2:1", all[i]);
    for (std::size_t turns = 0; turns < i % 8; ++turns) on.w.run_ready();
    r->cancel_connect(all[i]);
  }
  REQUIRE(on.w.until([&] { return r->open() == 0; }));
  for (const attempt& each : all) CHECK(each.connected == 0);
}

TEST_CASE("a numeric address asks nobody", "[reactor]") {
  named_world on;
  node a(on.w, options_of(1));
  node b(on.w, options_of(2));
  introduce(a, b);
  CHECK_FALSE(outcome_of_call(on.w, a));
  CHECK(on.names.asked() == 0);
}

TEST_CASE("a rail listens at the first address of a name that can be bound", "[reactor]") {
  named_world on;
  on.names.set("here", {"192.0.2.1", "127.1.0.5"});
  on.names.set("elsewhere", {"192.0.2.1"});
  node a(on.w, options_of(1));
  node b(on.w, options_of(2), "here:0");
  CHECK(b.ep->listen_address().starts_with("127.1.0.5:"));
  introduce(a, b);
  CHECK_FALSE(outcome_of_call(on.w, a));

  struct nobody_home final : accept_events {
    void on_accepted(transport::link& l) noexcept override { l.close(); }
  } nobody;
  const auto r = on.w.make_rail(3);
  CHECK_THAT(std::string(r->listen("elsewhere:0", nobody).error().text()), Contains("192.0.2.1:0"));
  CHECK(r->listen("nowhere:0", nobody).error() ==
        error(errc::not_found, "listen on nowhere:0: the name cannot be resolved: no such host"));
  CHECK(r->open() == 0);
}

TEST_CASE("a peer's address that cannot be one is refused at once, and the one before is kept", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  node a(w, options_of(1));
  REQUIRE(a.ep->add_peer(2, "127.1.0.2:7001").has_value());
  const auto refusal_of = [&](node_id peer, const std::string& address) {
    const auto added = a.ep->add_peer(peer, address);
    REQUIRE(added.error() == errc::invalid_argument);
    return std::string(added.error().text());
  };
  CHECK(refusal_of(2, "storage 7:7001") == "node 2: address 'storage 7:7001': a character no host name has");
  CHECK(refusal_of(3, ":7001") == "node 3: address ':7001': the host is missing");
  CHECK(refusal_of(3, "storage-7:0") == "node 3: address 'storage-7:0': port 0 cannot be connected to");
  CHECK(refusal_of(3, "127.0.0.1:0") == "node 3: address '127.0.0.1:0': port 0 cannot be connected to");
  CHECK(refusal_of(3, "verbs://n2") ==
        "node 3: verbs://n2 is not a tcp address: it needs node_rails with the devices of scoll::verbs");
  CHECK_THAT(refusal_of(3, "127.0.0.1:1;bulk=[::1]"), Contains("'[::1]': the port is missing"));
  CHECK(a.to(2).address() == "127.1.0.2:7001");
  CHECK(a.ep->find(3) == nullptr);
  CHECK(a.ep->add_peer(3, "storage-7:1;bulk=tcp://storage-7-fast:2").has_value());
}
