#include <deque>
#include <memory>
#include <vector>

#include "tests/catch.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// One connection of a host, and what arrived on it.
struct visit final : link_events {
  visit(sim_world& w, transport::link& l) : world(w), end(&l), since(w.now()) { l.set_owner(this); }
  ~visit() {
    if (end == nullptr) return;
    end->set_owner(nullptr);
    end->close();
  }

  void on_frame(frame_view& frame) noexcept override {
    sizes.push_back(frame.header.payload_bytes);
    latest = world.now();
  }
  void on_writable() noexcept override {}
  void on_closed(const error& reason) noexcept override {
    end = nullptr;
    closed = reason;
  }
  void send(std::size_t payload_bytes) {
    std::vector<std::byte> head(frame_header_bytes);
    const std::vector<std::byte> payload(payload_bytes);
    frame_header header;
    header.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    header.payload_checksum = wire::checksum(payload);
    encode_frame_header(head, header);
    const frame_parts parts{head, payload};
    end->write({&parts, 1});
  }

  sim_world& world;
  transport::link* end;
  nanoseconds since;
  nanoseconds latest{0};
  std::vector<std::size_t> sizes;
  error closed;
};

/// A host that keeps every connection, whoever made it.
struct house final : accept_events, connect_events {
  house(sim_world& world, sim_network& network, std::uint32_t host)
      : home(world, host, {}), rail(network, home) {
    listen();
  }

  void listen() { REQUIRE(rail.listen(rail.listen_address(), *this).has_value()); }
  void on_accepted(transport::link& accepted) noexcept override {
    guests.emplace_back(home.world(), accepted);
  }
  void on_connected(transport::link& connected) noexcept override {
    own.emplace_back(home.world(), connected);
  }
  void on_connect_failed(const error& reason) noexcept override { refused = reason; }
  void connect(std::uint32_t to) {
    home.enter([&] { rail.connect(sim_network::address_of(to), *this); });
  }
  void send(visit& over, std::size_t payload_bytes) {
    home.enter([&] { over.send(payload_bytes); });
  }

  sim_executor home;
  sim_rail rail;
  std::deque<visit> guests;
  std::deque<visit> own;
  error refused;
};

struct two_houses {
  explicit two_houses(std::uint64_t seed = 7) : world(seed, 2) {}

  /// `a` connects to `b`, and says something at 1 ms and at 2 ms.
  void speak() {
    a.connect(1);
    world.run_until(milliseconds(1));
    REQUIRE(a.own.size() == 1);
    a.send(a.own[0], 10);
    world.run_until(milliseconds(2));
    a.send(a.own[0], 20);
  }

  sim_world world;
  sim_network network{world, 4096};
  house a{world, network, 0};
  house b{world, network, 1};
};

/// What a run leaves behind.
struct trail {
  std::uint64_t hash;
  std::uint64_t next_draw;
  friend bool operator==(const trail&, const trail&) = default;
};

}  // namespace

TEST_CASE("a connection attempt arrives a second time, late and from nobody") {
  two_houses t;
  sim_path& way = t.network.path(0, 1);
  way.model = sim_link_model::ideal(microseconds(100));
  way.repeat_connects = 1;
  way.repeat_after = milliseconds(5);
  t.speak();
  t.world.run_until(milliseconds(6));
  REQUIRE(t.b.guests.size() == 1);
  CHECK(t.b.guests[0].sizes == std::vector<std::size_t>{10, 20});
  CHECK(t.network.repeated() == 0);
  t.world.run_until(milliseconds(20));
  REQUIRE(t.b.guests.size() == 2);
  CHECK(t.network.repeated() == 1);
  visit& copy = t.b.guests[1];
  CHECK(copy.since == milliseconds(6) + microseconds(100));
  CHECK(copy.sizes == std::vector<std::size_t>{10});  // what was written first, and no more
  CHECK(copy.latest == copy.since);
  REQUIRE(copy.end != nullptr);
  CHECK(copy.end->peer_name().starts_with(t.a.rail.listen_address() + ":"));

  SECTION("answers go nowhere, and reset it") {
    t.b.send(copy, 30);
    t.world.run_until(milliseconds(40));
    CHECK(copy.closed == errc::connection_lost);
    CHECK(t.a.own[0].sizes.empty());
    CHECK(t.a.own.size() == 1);
    CHECK(t.a.guests.empty());
  }
  SECTION("it ends by itself where nobody answers") {
    t.world.run_until(seconds(20));
    CHECK(copy.closed == errc::connection_lost);
  }
  SECTION("it is one attempt only") {
    t.a.connect(1);
    t.world.run_until(milliseconds(30));
    REQUIRE(t.a.own.size() == 2);
    t.a.send(t.a.own[1], 40);
    t.world.run_until(milliseconds(60));
    CHECK(t.b.guests.size() == 3);
    CHECK(t.network.repeated() == 1);
  }
  SECTION("the first connection does not notice") {
    t.a.send(t.a.own[0], 50);
    t.b.send(t.b.guests[0], 60);
    t.world.run_until(milliseconds(40));
    CHECK(t.b.guests[0].sizes == std::vector<std::size_t>{10, 20, 50});
    CHECK(t.a.own[0].sizes == std::vector<std::size_t>{60});
  }
}

TEST_CASE("the copy of a connection attempt outlives the attempt, and reaches whoever listens then") {
  two_houses t;
  t.network.path(0, 1).repeat_connects = 1;
  t.network.path(0, 1).repeat_after = seconds(1);
  t.speak();
  t.a.home.enter([&] { t.a.own.clear(); });
  t.world.run_until(milliseconds(500));
  CHECK(t.b.guests[0].closed);
  SECTION("at a host that is busy, when it is free") {
    t.b.home.stall_until(seconds(3));
    t.world.run_until(seconds(2));
    CHECK(t.network.repeated() == 0);
    t.world.run_until(seconds(4));
    REQUIRE(t.b.guests.size() == 2);
    CHECK(t.b.guests[1].sizes == std::vector<std::size_t>{10});
  }
  SECTION("nobody, if connections are refused") {
    t.network.refuse(0, 1);
    t.world.run_until(seconds(4));
    CHECK(t.network.repeated() == 0);
  }
  SECTION("nobody, if there is no way through") {
    t.network.path(0, 1).blocked_until = seconds(3);
    t.world.run_until(seconds(4));
    CHECK(t.network.repeated() == 0);
  }
  SECTION("nobody, if nobody listens") {
    t.b.rail.stop_listening();
    t.world.run_until(seconds(4));
    CHECK(t.network.repeated() == 0);
  }
  SECTION("nobody, if the network ends first") {
    CHECK(t.network.repeated() == 0);
  }
}

TEST_CASE("attempts that cross are counted") {
  two_houses t;
  SECTION("one that begins while the other is under way") {
    t.a.connect(1);
    t.world.run_until(microseconds(5));
    t.b.connect(0);
    CHECK(t.network.crossings() == 1);
    t.world.run_until(milliseconds(1));
    CHECK(t.a.own.size() == 1);
    CHECK(t.b.own.size() == 1);
  }
  SECTION("not one that begins when the other has succeeded") {
    t.a.connect(1);
    t.world.run_until(milliseconds(1));
    t.b.connect(0);
    t.world.run_until(milliseconds(2));
    CHECK(t.network.crossings() == 0);
  }
  SECTION("not two of the same host, nor one that was given up, nor one to no address") {
    t.a.connect(1);
    t.a.connect(1);
    t.a.rail.cancel_connect(t.a);
    t.a.rail.cancel_connect(t.a);
    t.b.connect(0);
    t.b.connect(99);
    CHECK(t.network.crossings() == 0);
    t.world.run_until(milliseconds(2));
  }
}

TEST_CASE("a network that repeats nothing draws and records as ever") {
  const auto run = [](std::uint32_t repeats, nanoseconds after) {
    two_houses t(3);
    t.network.path(0, 1).repeat_connects = repeats;
    t.network.path(0, 1).repeat_after = after;
    t.speak();
    t.b.connect(0);
    t.a.connect(1);
    t.world.run_until(seconds(1));
    const trail left{t.world.trace_hash(), t.world.random().below(1'000'000'007)};
    return left;
  };
  const trail usual = run(0, milliseconds(1));
  CHECK(run(0, milliseconds(7)) == usual);
  CHECK(run(1, seconds(5)) == usual);  // the copy has not arrived
  const trail repeated = run(1, milliseconds(1));
  CHECK(repeated.hash != usual.hash);
  CHECK(repeated.next_draw == usual.next_draw);
}
