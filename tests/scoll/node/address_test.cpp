#include <string>

#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "tests/catch.hpp"
#include "tests/support/name_table.hpp"
#include "tests/transport/io/on_reactor.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/tcp/tcp_rail.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

namespace {

/// One node on TCP, which is shut down at the end.
struct lone_node {
  explicit lone_node(const node_options& options, const transport::tcp_options& tcp = {})
      : rail(*loop, tcp), self(*loop, rail, options) {}
  ~lone_node() { CHECK(sync_wait(*loop, self.shutdown(1s))); }

  std::unique_ptr<transport::reactor> loop = on_reactor::make();
  transport::tcp_rail rail;
  node self;
};

node_options options(const std::string& listen = {}, const std::string& advertise = {}) {
  node_options o;
  o.id = 1;
  o.incarnation = 1;
  o.listen = listen;
  o.advertise = advertise;
  return o;
}

}  // namespace

TEST_CASE("a node announces the address that it has bound", "[reactor]") {
  lone_node n(options());
  REQUIRE(n.self.listen("127.0.0.1:0"));
  CHECK(n.self.listen_address().starts_with("127.0.0.1:"));
  CHECK_FALSE(n.self.listen_address().ends_with(":0"));
  CHECK(n.self.advertised_address() == n.self.listen_address());
}

TEST_CASE("a node binds one address and announces another", "[reactor]") {
  lone_node n(options("127.0.0.1:0", "storage-7.example.org:7001"));
  REQUIRE(n.self.listen());
  CHECK(n.self.listen_address().starts_with("127.0.0.1:"));
  CHECK(n.self.advertised_address() == "storage-7.example.org:7001");
}

TEST_CASE("a node that listens at a wildcard and announces nothing else says so", "[reactor]") {
  lone_node n(options("0.0.0.0:0"));
  REQUIRE(n.self.listen());
  CHECK(n.self.advertised_address().starts_with("0.0.0.0:"));
  CHECK(n.self.advertised_address() == n.self.listen_address());
}

TEST_CASE("a node listens where its host's name leads", "[reactor]") {
  test::name_table names;
  names.set("storage-1", {"127.0.0.9"});
  transport::tcp_options tcp;
  tcp.resolve = names.function();
  lone_node n(options("storage-1:0"), tcp);
  REQUIRE(n.self.listen());
  CHECK(n.self.listen_address().starts_with("127.0.0.9:"));
}

TEST_CASE("a node listens at localhost", "[reactor]") {
  lone_node n(options());
  REQUIRE(n.self.listen("localhost:0"));
  CHECK((n.self.listen_address().starts_with("127.") || n.self.listen_address().starts_with("[::1]:")));
}

TEST_CASE("what a node cannot announce is refused when it is to listen", "[reactor]") {
  lone_node n(options("127.0.0.1:0", "storage-7"));
  const auto listening = n.self.listen();
  CHECK(listening.error() ==
        error(errc::invalid_argument, "advertise: address 'storage-7': the port is missing"));
  CHECK(n.self.listen_address().empty());
  lone_node nowhere(options());
  CHECK_THAT(std::string(nowhere.self.listen().error().text()), Contains("node_options::listen"));
  lone_node without_port(options("127.0.0.1:0", "127.0.0.1:0"));
  CHECK_THAT(std::string(without_port.self.listen().error().text()), Contains("port 0"));
}

TEST_CASE("a node refuses peers at addresses that cannot exist", "[reactor]") {
  lone_node n(options());
  CHECK(n.self.add_peer(3, "storage-7:70010").error() ==
        error(errc::invalid_argument, "node 3: address 'storage-7:70010': the port is not in 0..65535"));
  CHECK(n.self.add_peer(3, "storage-7:7001"));
}

TEST_CASE("addresses of simulated hosts are checked by their form") {
  testing::virtual_executor clock;
  testing::sim_network net(clock.world(), testing::sim_network::usual_chunk_bytes, 2);
  {
    testing::sim_rail rail(net, clock, 1);
    node n(clock, rail, options());
    CHECK(n.add_peer(3, "host:3"));
    CHECK(n.add_peer(4, "host:4000000"));  // nobody is there
    for (const char* odd : {"", "host:", "host", "host:x", "host:-1", "127.0.0.1:7001"}) {
      INFO(odd);
      const auto added = n.add_peer(5, odd);
      CHECK(added.error() == errc::invalid_argument);
      CHECK_THAT(std::string(added.error().text()), Contains("node 5: address '" + std::string(odd) + "'"));
    }
    CHECK(sync_wait(clock, n.shutdown(1s)));
  }
}
