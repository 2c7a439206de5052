#include <sys/socket.h>

#include <filesystem>
#include <optional>

#include "tests/transport/memory/transfers.hpp"
#include "transport/io/address.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/session/rails/rail_set.hpp"
#include "transport/tcp/tcp_rail.hpp"

// Two rails over TCP: two addresses of the loopback interface for each node.
using namespace transfers;

namespace {

/// Rail 0 of node n is 127.20.0.n, rail 1 is 127.21.0.n.
std::string host_of(node_id id, std::size_t rail) {
  return "127." + std::to_string(20 + rail) + ".0." + std::to_string(id);
}

class tcp_rail_node final {
 public:
  tcp_rail_node(reactor& loop, node_id number) : id(number) {
    for (std::size_t i = 0; i < 2; ++i) {
      const std::string own = host_of(id, i) + ":0";
      rails_.push_back(std::make_unique<tcp_rail>(loop, tcp_options{.bind_source = own}));
      set_.add(i == 0 ? "a" : "b", *rails_.back(), {.listen = own, .prefix = 24}).value();
    }
    ep = std::make_unique<endpoint>(loop, set_, options_of(id), in);
    in.owner = ep.get();
    const auto listening = ep->listen("");
    if (!listening) FAIL(describe(listening.error()));
  }
  ~tcp_rail_node() = default;
  tcp_rail_node(const tcp_rail_node&) = delete;
  tcp_rail_node& operator=(const tcp_rail_node&) = delete;

  void knows(tcp_rail_node& other) {
    REQUIRE(ep->add_peer(other.id, {other.rails_[0]->listen_address(), other.rails_[1]->listen_address()})
                .has_value());
  }
  std::size_t open() const { return rails_[0]->open() + rails_[1]->open(); }

  node_id id;
  service in;

 private:
  std::vector<std::unique_ptr<tcp_rail>> rails_;
  rail_set set_;

 public:
  std::unique_ptr<endpoint> ep;
};

/// Kills all connections of rail `rail`. Returns how many ends that were.
int kill_connections(std::size_t rail) {
  const std::string network = "127." + std::to_string(20 + rail) + ".";
  int killed = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    const int fd = std::stoi(entry.path().filename());
    const auto far = peer_address(fd);
    if (!far || !far->to_string().starts_with(network)) continue;
    ::shutdown(fd, SHUT_RDWR);
    ++killed;
  }
  return killed;
}

struct tcp_pair {
  tcp_pair() : left(w.loop(), 1), right(w.loop(), 2) {
    left.knows(right);
    right.knows(left);
  }
  ~tcp_pair() {
    for (tcp_rail_node* n : {&left, &right}) n->ep.reset();
    CHECK(w.until([&] { return left.open() + right.open() == 0; }));
  }
  bool begin(call& c) {
    c.number = ++numbers;
    c.want_bytes = 8;
    c.ends = 0;
    message& m = compose(*left.ep, {c.number, 8, 1}, 64);
    return left.ep->find(2)->request(c, traffic_class::call, m, c.capacity).has_value();
  }
  /// True if both rails have a connection for control.
  bool both_stand() {
    return left.ep->find(2)->connected_by(traffic_class::call, {0, 0}) &&
           left.ep->find(2)->connected_by(traffic_class::call, {1, 1});
  }
  void check_clean() {
    for (tcp_rail_node* n : {&left, &right}) {
      for (const auto& [number, times] : n->in.seen) CHECK(times == 1);
      CHECK(n->in.losses.empty());
      CHECK(n->ep->statistics().links_broken == 0);
    }
  }

  tcp_world w{tcp_world::family::v4};
  tcp_rail_node left;
  tcp_rail_node right;
  std::uint64_t numbers = 0;
};

/// A node with two transports by name: "tcp" has the addresses of rail 0, and "x" those of rail 1.
struct named_tcp_node {
  named_tcp_node(reactor& loop, node_id id)
      : tcp(loop, {.bind_source = host_of(id, 0) + ":0"}), x(loop, {.bind_source = host_of(id, 1) + ":0"}) {
    both.add("tcp", tcp).value();
    both.add("x", x).value();
    ep.emplace(loop, both, options_of(id), in);
    in.owner = &*ep;
    ep->listen("tcp://" + host_of(id, 0) + ":0;bulk=x://" + host_of(id, 1) + ":0").value();
  }

  tcp_rail tcp, x;
  named_rails both;
  service in;
  std::optional<endpoint> ep;
};

bytes patterned(std::size_t size) {
  bytes made(size);
  for (std::size_t i = 0; i < size; i += 8) made[i] = static_cast<std::byte>(i * 37 >> 11);
  return made;
}

}  // namespace

TEST_CASE("connections of a rail are killed in the middle of calls over TCP, and no caller hears of it",
          "[reactor]") {
  tcp_pair p;
  std::deque<call> calls(64);
  for (call& c : calls) REQUIRE(p.begin(c));
  REQUIRE(p.w.until([&] { return p.both_stand(); }));
  int kills = 0;
  nanoseconds longest{0};
  for (int round = 0; round < 400; ++round) {
    if (round % 40 == 20) kills += kill_connections(static_cast<std::size_t>(round / 40) % 2) != 0;
    for (call& c : calls) {
      if (c.ends == 1) REQUIRE(c.answered());
      if (c.ends == 1) REQUIRE(p.begin(c));
    }
    const time_point began = p.w.ex().now();
    REQUIRE(p.w.until([&] { return calls.front().ends == 1; }));
    longest = std::max(longest, p.w.ex().now() - began);
    if (round % 40 == 39) REQUIRE(p.w.until([&] { return p.both_stand(); }));
  }
  REQUIRE(p.w.until([&] { return std::ranges::all_of(calls, [](call& c) { return c.ends == 1; }); }));
  for (call& c : calls) CHECK(c.answered());
  CHECK(kills >= 8);
  CHECK(longest < 500ms);
  WARN("the longest wait for a call around a killed connection: " << longest / 1us << " us");
  p.check_clean();
}

TEST_CASE("connections of a rail are killed in the middle of a pull of 64 MiB over TCP", "[reactor]") {
  tcp_pair p;
  bytes source = patterned(64U << 20U);
  bytes into(source.size());
  auto region = memory_region::expose(*p.right.ep, source, memory_access::read);
  REQUIRE(region.has_value());
  started<status> pulling(p.w.ex(), pull(*p.left.ep, region->descriptor(), 0, into, {}));
  int kills = 0;
  for (int i = 0; i < 6 && !pulling.done(); ++i) {
    p.w.pass(4ms);
    kills += kill_connections(static_cast<std::size_t>(i) % 2) != 0;
  }
  REQUIRE(p.w.until([&] { return pulling.done(); }, 60s));
  INFO(describe(*pulling ? error() : pulling->error()));
  CHECK(pulling->has_value());
  CHECK(kills >= 1);
  CHECK(into == source);
  p.check_clean();
}

TEST_CASE("the transport for bulk dies in the middle of a pull of 64 MiB, which ends over the other one",
          "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  named_tcp_node left(w.loop(), 1);
  named_tcp_node right(w.loop(), 2);
  REQUIRE(left.ep->add_peer(2, right.ep->listen_address()).has_value());
  REQUIRE(right.ep->add_peer(1, left.ep->listen_address()).has_value());
  bytes source = patterned(64U << 20U);
  bytes into(source.size());
  auto region = memory_region::expose(*right.ep, source, memory_access::read);
  REQUIRE(region.has_value());
  started<status> pulling(w.ex(), pull(*left.ep, region->descriptor(), 0, into, {}));
  session& peer = *left.ep->find(2);
  REQUIRE(w.until([&] { return peer.connected_by(traffic_class::bulk, {1, 1}); }));
  w.pass(2ms);
  REQUIRE_FALSE(pulling.done());
  for (named_tcp_node* n : {&left, &right}) n->x.stop_listening();
  CHECK(kill_connections(1) >= 1);
  REQUIRE(w.until([&] { return pulling.done(); }, 60s));
  INFO(describe(*pulling ? error() : pulling->error()));
  CHECK(pulling->has_value());
  CHECK(into == source);
  CHECK(peer.path_of(traffic_class::bulk) == path_key{0, 0});
  call c;
  message& m = compose(*left.ep, {1, 8, 1}, 8);
  c.number = 1;
  c.want_bytes = 8;
  REQUIRE(peer.request(c, traffic_class::call, m, c.capacity).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
  for (named_tcp_node* n : {&left, &right}) {
    CHECK(n->in.losses.empty());
    CHECK(n->ep->statistics().links_broken + n->ep->statistics().bulk_lost == 0);
  }
  region = error(errc::closed, "over");
  for (named_tcp_node* n : {&left, &right}) n->ep.reset();
  CHECK(w.until([&] { return left.both.open() + right.both.open() == 0; }));
}

TEST_CASE("a device that does not exist is named", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  tcp_rail rail(w.loop(), tcp_options{.device = "nosuch0"});
  service in;
  endpoint e(w.ex(), rail, options_of(1), in);
  const auto refused = e.listen("127.20.0.1:0");
  REQUIRE_FALSE(refused.has_value());
  CHECK_THAT(std::string(refused.error().text()), Catch::Contains("nosuch0"));
}

TEST_CASE("a rail that is bound to a device listens and connects by it", "[reactor]") {
  tcp_world w(tcp_world::family::v4);
  w.options.device = "lo";
  linked_nodes pair(w);
  call c;
  REQUIRE(c.start(*pair.left, 2, 1).has_value());
  REQUIRE(w.until([&] { return c.ends == 1; }));
  CHECK(c.answered());
}
