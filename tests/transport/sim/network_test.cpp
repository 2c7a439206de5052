#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/scope.hpp"
#include "scoll/coro/sleep.hpp"
#include "tests/catch.hpp"
#include "tests/transport/sim/exact_link.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"
#include "transport/wire/checksum.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using scoll::test::exact;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// Accepts every connection and counts the arriving frames.
struct frame_host final : accept_events, connect_events, link_events {
  frame_host(sim_world& world, sim_network& network, std::uint32_t host, sim_clock clock = {})
      : home(world, host, clock), rail(network, home) {
    REQUIRE(rail.listen(sim_network::address_of(host), *this).has_value());
  }
  ~frame_host() {
    if (end != nullptr) {
      end->set_owner(nullptr);
      end->close();
    }
  }

  void on_accepted(transport::link& accepted) noexcept override { take(accepted); }
  void on_connected(transport::link& connected) noexcept override { take(connected); }
  void on_connect_failed(const error& reason) noexcept override { refused = reason; }
  void on_frame(frame_view&) noexcept override {
    ++frames;
    last_frame = home.world().now();
  }
  void on_writable() noexcept override {}
  void on_closed(const error& reason) noexcept override {
    end = nullptr;
    closed = reason;
    closed_at = home.world().now();
  }
  void take(transport::link& l) noexcept {
    end = &l;
    l.set_owner(this);
  }
  void connect(std::uint32_t to) {
    home.enter([&] { rail.connect(sim_network::address_of(to), *this); });
  }
  void send(std::size_t payload_bytes) {
    std::vector<std::byte> head(frame_header_bytes);
    const std::vector<std::byte> payload(payload_bytes);
    frame_header header;
    header.payload_bytes = static_cast<std::uint32_t>(payload_bytes);
    header.payload_checksum = wire::checksum(payload);
    encode_frame_header(head, header);
    home.enter([&] {
      const frame_parts parts{head, payload};
      end->write({&parts, 1});
    });
  }

  sim_executor home;
  sim_rail rail;
  transport::link* end = nullptr;
  int frames = 0;
  nanoseconds last_frame{0}, closed_at{0};
  error refused, closed;
};

struct connected_hosts {
  sim_world world{7, 2};
  sim_network network{world, 4096};
  frame_host a{world, network, 0};
  frame_host b{world, network, 1};

  explicit connected_hosts(sim_link_model model = {}) {
    network.path(0, 1).model = network.path(1, 0).model = model;
    a.connect(1);
    world.run_until(milliseconds(1));
    REQUIRE(a.end != nullptr);
    REQUIRE(b.end != nullptr);
  }
};

}  // namespace

TEST_CASE("a simulated wire takes the time of its model") {
  connected_hosts p(exact());
  p.a.send(0);
  p.world.run_until(milliseconds(2));
  REQUIRE(p.b.frames == 1);
  // Overhead, latency and 64 bytes of header.
  REQUIRE(p.b.last_frame == milliseconds(1) + microseconds(3 + 100 + 64));
}

TEST_CASE("a simulated clock has its own offset and rate") {
  sim_world world(1, 2);
  sim_executor exact_host(world, 0, {});
  sim_executor fast(world, 1, {seconds(5), 100'000});
  world.run_until(seconds(10));
  REQUIRE(exact_host.now().time_since_epoch() == seconds(11));
  REQUIRE(fast.now().time_since_epoch() == seconds(16));
}

TEST_CASE("a timer fires when its own host's clock says so") {
  sim_world world(1, 2);
  sim_executor slow(world, 1, {seconds(1), -500'000});
  scope work(slow);
  nanoseconds woken{0};
  slow.enter([&] {
    work.spawn([](sim_world& w, nanoseconds& at) -> task<void> {
      co_await sleep_for(seconds(1));
      at = w.now();
    }(world, woken));
  });
  world.run_until(seconds(5));
  REQUIRE(woken == seconds(2));
  REQUIRE(work.join().await_ready());
}

TEST_CASE("a stalled host receives nothing until it goes on") {
  connected_hosts p;
  p.b.home.stall_until(seconds(3));
  p.a.send(100);
  p.world.run_until(seconds(2));
  REQUIRE(p.b.frames == 0);
  p.world.run_until(seconds(4));
  REQUIRE(p.b.frames == 1);
  REQUIRE(p.b.last_frame >= seconds(3));
}

TEST_CASE("what is sent into a partition arrives when it is over") {
  connected_hosts p;
  p.network.path(0, 1).blocked_until = seconds(1);
  p.a.send(10);
  p.b.send(10);
  p.world.run_until(milliseconds(500));
  REQUIRE(p.b.frames == 0);
  REQUIRE(p.a.frames == 1);  // the other direction is open
  p.world.run_until(seconds(2));
  REQUIRE(p.b.frames == 1);
}

TEST_CASE("altered bytes are found and end the connection") {
  connected_hosts p;
  p.network.path(0, 1).corrupt_next = 1;
  p.a.send(1000);
  p.world.run_until(seconds(1));
  REQUIRE(p.b.frames == 0);
  REQUIRE(p.b.closed);
  REQUIRE(p.a.closed == errc::connection_lost);
}

TEST_CASE("both ends hear of a cut") {
  connected_hosts p;
  p.network.cut(0, 1);
  p.world.run_until(seconds(1));
  REQUIRE(p.a.closed == errc::connection_lost);
  REQUIRE(p.b.closed == errc::connection_lost);
}

TEST_CASE("a half-open connection is noticed at the next write, or by silence") {
  for (const bool writes : {true, false}) {
    connected_hosts p;
    p.network.half_open(0, 1);
    p.world.run_until(milliseconds(100));
    REQUIRE(p.a.closed);
    REQUIRE_FALSE(p.b.closed);
    if (writes) p.b.send(10);
    p.world.run_until(seconds(1));
    REQUIRE(bool(p.b.closed) == writes);
    p.world.run_until(seconds(20));
    REQUIRE(p.b.closed);
  }
}

TEST_CASE("connections are refused while they are told to be") {
  sim_world world(3, 2);
  sim_network network(world, 4096);
  frame_host a(world, network, 0), b(world, network, 1);
  network.path(0, 1).refused_until = seconds(1);
  a.connect(1);
  world.run_until(milliseconds(10));
  REQUIRE(a.refused == errc::unreachable);
  network.heal();
  a.connect(1);
  world.run_until(milliseconds(20));
  REQUIRE(a.end != nullptr);
}

TEST_CASE("the peers of a crashed host hear of it as it crashed") {
  for (const sim_crash how : {sim_crash::loud, sim_crash::silent}) {
    connected_hosts p;
    p.a.send(10);
    p.a.rail.crash(how);
    p.a.home.detach();
    p.world.run_until(seconds(1));
    REQUIRE(bool(p.b.closed) == (how == sim_crash::loud));
    REQUIRE(p.a.frames == 0);
    p.a.rail.break_all();
    REQUIRE(p.a.closed == errc::connection_lost);
    p.world.run_until(seconds(20));
    REQUIRE(p.b.closed);
  }
}

TEST_CASE("equal seeds give equal traces") {
  const auto trace = [](std::uint64_t seed) {
    sim_world world(seed, 2);
    sim_network network(world, 512);
    frame_host a(world, network, 0), b(world, network, 1);
    a.connect(1);
    world.run_until(milliseconds(1));
    for (int i = 0; i < 20; ++i) {
      a.send(static_cast<std::size_t>(i) * 100);
      world.run_until(world.now() + milliseconds(1));
    }
    REQUIRE(b.frames == 20);
    return world.trace_hash();
  };
  REQUIRE(trace(1) == trace(1));
  REQUIRE(trace(1) != trace(2));
}

TEST_CASE("paths are as the common one until they are asked for") {
  sim_world world(3, 3);
  sim_network network(world, 4096);
  frame_host a(world, network, 0), b(world, network, 1);
  network.common_path().model.latency = milliseconds(4);
  network.common_path().refused_until = seconds(1);
  a.connect(1);
  world.run_until(milliseconds(10));
  REQUIRE(a.refused == errc::unreachable);
  sim_path& own = network.path(0, 1);
  REQUIRE(own.model.latency == milliseconds(4));
  network.common_path().model.latency = seconds(1);
  network.heal();
  REQUIRE(own.refused_until == nanoseconds(0));
  REQUIRE(own.model.latency == milliseconds(4));
  a.connect(1);
  world.run_until(milliseconds(20));
  REQUIRE(a.end != nullptr);
}

TEST_CASE("a host that sends is busy for the overhead if its wires say so") {
  for (const bool busy : {false, true}) {
    sim_link_model model = exact();
    model.sender_busy = busy;
    connected_hosts p(model);
    p.a.send(0);
    REQUIRE(p.a.home.available_at() == (busy ? milliseconds(1) + model.overhead : milliseconds(0)));
  }
}
