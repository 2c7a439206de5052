#include <numeric>

#include "calls.hpp"
#include "transport/session/named_rails.hpp"
#include "transport/sim/virtual_executor.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace scoll::testing;
using namespace scoll::transport;

namespace {

/// Two nodes, each on two networks.
struct two_networks {
  virtual_executor ex;
  sim_network slow{ex.world(), sim_network::usual_chunk_bytes, 3};
  sim_network fast{ex.world(), sim_network::usual_chunk_bytes, 3};
  sim_rail slow_one{slow, ex, 1}, slow_two{slow, ex, 2};
  sim_rail fast_one{fast, ex, 1}, fast_two{fast, ex, 2};
  named_rails one, two;

  two_networks() {
    one.add("slow", slow_one).value();
    one.add("fast", fast_one).value();
    two.add("slow", slow_two).value();
    two.add("fast", fast_two).value();
  }
  ~two_networks() { ex.run_until_idle(); }

  static node_options identity(node_id id) {
    node_options o;
    o.id = id;
    o.cluster = "test";
    o.incarnation = 1;
    return o;
  }
};

task<ship_result<std::vector<std::uint8_t>>> echoed(node& from, node_id to, std::vector<std::uint8_t> bytes) {
  auto r = co_await ship(from, to, echo, bytes);
  co_return r;
}

}  // namespace

TEST_CASE("an address names its transport, and another one for bulk") {
  CHECK(split_name("tcp://1.2.3.4:5").transport == "tcp");
  CHECK(split_name("tcp://1.2.3.4:5").place == "1.2.3.4:5");
  CHECK(split_name("[::1]:5").transport.empty());
  CHECK(split_name("[::1]:5").place == "[::1]:5");
  CHECK(address_of_lane("a://b;bulk=c://d", lane_id::control) == "a://b");
  CHECK(address_of_lane("a://b;bulk=c://d", lane_id::bulk) == "c://d");
  CHECK(address_of_lane("a://b", lane_id::bulk) == "a://b");
}

TEST_CASE("messages and bulk go by the transports that the address names") {
  two_networks w;
  {
    handlers h;
    node a(w.ex, w.one, two_networks::identity(1));
    node b(w.ex, w.two, two_networks::identity(2));
    h.serve_all(b);
    REQUIRE(a.listen("slow://host:1;bulk=fast://host:1"));
    REQUIRE(b.listen("slow://host:2;bulk=fast://host:2"));
    CHECK(b.listen_address() == "slow://host:2;bulk=fast://host:2");
    REQUIRE(a.add_peer(2, b.listen_address()));
    REQUIRE(b.add_peer(1, a.listen_address()));
    std::vector<std::uint8_t> bytes(300000);
    std::iota(bytes.begin(), bytes.end(), std::uint8_t{0});
    const auto back = sync_wait(w.ex, echoed(a, 2, bytes));
    REQUIRE(back);
    CHECK(*back == bytes);
    CHECK(w.slow.bytes_carried() < 10000);
    CHECK(w.fast.bytes_carried() > 600000);
    CHECK(sync_wait(w.ex, a.shutdown(std::chrono::seconds(1))));
    CHECK(sync_wait(w.ex, b.shutdown(std::chrono::seconds(1))));
  }
}

TEST_CASE("a transport that is not there is named") {
  two_networks w;
  {
    node a(w.ex, w.one, two_networks::identity(1));
    const auto listening = a.listen("x://n1");
    REQUIRE_FALSE(listening);
    CHECK(listening.error() == error(errc::unsupported, "there is no transport for x://n1"));
    CHECK(a.listen("slow://host:1;bulk=slow://host:3").error() == errc::invalid_argument);
    REQUIRE(a.listen("host:1"));
    CHECK(a.listen_address() == "slow://host:1");
    const auto refusal_of = [&](const char* address) {
      const auto added = a.add_peer(2, address);
      CHECK(added.error() == errc::invalid_argument);
      return std::string(added.error().text());
    };
    CHECK(refusal_of("x://n2") == "node 2: there is no transport for x://n2");
    CHECK(refusal_of("host:2;bulk=x://n2") == "node 2: there is no transport for x://n2");
    CHECK_THAT(refusal_of("slow://host:2;bulk=fast://tomorrow"), Catch::Contains("'tomorrow'"));
    CHECK_THAT(refusal_of("slow://host:2;bulk="), Catch::Contains("''"));
    CHECK(a.add_peer(2, "slow://host:2;bulk=fast://host:2"));
    CHECK(w.one.add("slow", w.fast_one).error() == errc::already_exists);
    CHECK(sync_wait(w.ex, a.shutdown(std::chrono::seconds(1))));
  }
}
