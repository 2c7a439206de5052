#include "transport/sim/sim_datagram.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/sim/exact_link.hpp"

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;
using Catch::Matchers::Contains;
using scoll::test::exact;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

/// A host with a port; each datagram carries a number.
struct datagram_host final : datagram_events {
  datagram_host(sim_world& w, sim_datagrams& network, std::uint32_t host, sim_datagram_options options = {})
      : world(w), home(w, host, {}), port(network, home, options) {
    REQUIRE(port.bind(sim_network::address_of(host), *this));
  }
  ~datagram_host() {
    held.clear();
    port.close();
  }

  void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept override {
    std::uint32_t number = 0;
    if (!bytes.bytes.empty())
      std::memcpy(&number, bytes.bytes.data(), std::min(sizeof number, bytes.bytes.size()));
    if (record) heard.push_back({source, number, bytes.bytes.size(), world.now()});
    altered += std::any_of(bytes.bytes.begin() + std::min<std::ptrdiff_t>(4, std::ssize(bytes.bytes)),
                           bytes.bytes.end(), [](std::byte b) { return b != std::byte{0x55}; });
    ++count;
    if (hold) held.push_back(bytes);
    if (then) then(source, bytes);
  }

  status send(std::uint32_t to, std::uint32_t number = 0, std::size_t size = 100) {
    scratch.assign(size, std::byte{0x55});
    if (size != 0) std::memcpy(scratch.data(), &number, std::min(sizeof number, size));
    const datagram_address address = port.parse(sim_network::address_of(to)).value();
    status s;
    home.enter([&] { s = port.send(address, scratch); });
    return s;
  }

  struct datagram {
    datagram_address source;
    std::uint32_t number;
    std::size_t size;
    nanoseconds at;
  };
  sim_world& world;
  sim_executor home;
  sim_datagram_port port;
  std::vector<datagram> heard;
  std::deque<buffer_view> held;
  std::function<void(const datagram_address&, const buffer_view&)> then;
  std::vector<std::byte> scratch;
  std::size_t count = 0, altered = 0;
  bool record = true;
  bool hold = false;
};

struct hosts {
  sim_world world;
  sim_network network{world, 4096};
  sim_datagrams datagrams{network};
  explicit hosts(std::uint64_t seed = 7, std::uint32_t count = 2) : world(seed, count) {}
};

struct datagram_pair : hosts {
  datagram_host a, b;
  explicit datagram_pair(std::uint64_t seed = 7, sim_datagram_options options = {})
      : hosts(seed), a(world, datagrams, 0, options), b(world, datagrams, 1, options) {}

  void run_for(nanoseconds d) { world.run_until(world.now() + d); }
  /// Sends this many datagrams from a to b, one every 20 us, and waits until all have arrived.
  void send(std::uint32_t datagrams_to_send) {
    for (std::uint32_t i = 0; i < datagrams_to_send; ++i) {
      REQUIRE(a.send(1, i));
      run_for(microseconds(20));
    }
    run_for(milliseconds(100));
  }
  /// Returns how many arrived after one with a higher number.
  std::size_t overtaken() const {
    std::size_t late = 0;
    std::uint32_t highest = 0;
    for (const auto& d : b.heard) {
      late += d.number < highest;
      highest = std::max(highest, d.number);
    }
    return late;
  }
};

}  // namespace

TEST_CASE("a simulated datagram takes the time of the wire") {
  datagram_pair p;
  p.network.path(0, 1).model = exact();
  REQUIRE(p.a.send(1, 1, 64));
  REQUIRE(p.a.send(1, 2, 0));
  p.run_for(milliseconds(1));
  REQUIRE(p.b.count == 2);
  CHECK(p.b.heard[0].at == microseconds(3 + 64 + 100));
  // The second datagram leaves when the wire is free again.
  CHECK(p.b.heard[1].at == microseconds(3 + 64 + 3 + 100));
  CHECK(p.b.heard[1].size == 0);
  CHECK(p.a.port.print(p.b.heard[0].source) == "host:0");
  p.network.path(0, 1).narrow_until = seconds(1);
  p.network.path(0, 1).narrowing = 10;
  REQUIRE(p.a.send(1, 3, 64));
  p.run_for(milliseconds(1));
  CHECK(p.b.heard.back().at == microseconds(1000 + 3 + 640 + 100));
  p.network.path(0, 1).slow_until = seconds(1);
  p.network.path(0, 1).extra = milliseconds(5);
  p.network.path(0, 1).narrowing = 1;
  REQUIRE(p.a.send(1, 4, 64));
  p.run_for(milliseconds(10));
  CHECK(p.b.heard.back().at == microseconds(2000 + 3 + 64 + 100 + 5000));
}

TEST_CASE("the same owner runs over simulated ports as over any other") {
  datagram_pair p;
  datagram_port& b = p.b.port;
  p.b.then = [&](const datagram_address& source, const buffer_view& bytes) {
    REQUIRE(b.send(source, bytes.bytes));
  };
  for (const std::size_t size : {0U, 1U, 1400U, 65507U}) REQUIRE(p.a.send(1, 0, size));
  REQUIRE(p.a.send(0, 0, 33));  // to itself
  p.run_for(milliseconds(50));
  CHECK(p.b.count == 4);
  CHECK(p.a.count == 5);
  CHECK(p.a.altered == 0);
  CHECK(p.a.port.statistics().sent == 5);
  CHECK(p.a.port.statistics().received_bytes == 1 + 1400 + 65507 + 33);
}

TEST_CASE("simulated loss, repetition, disorder and damage come as often as told, and by the seed") {
  constexpr std::uint32_t sent = 20000;
  // The bound is four standard deviations around one in ten.
  constexpr std::size_t expected = sent / 10;
  constexpr std::size_t spread = 4 * 43;
  const auto about_one_in_ten = [](std::size_t count) {
    CHECK(count > expected - spread);
    CHECK(count < expected + spread);
  };
  datagram_pair p(11);
  sim_path& way = p.network.path(0, 1);
  way.model.jitter = nanoseconds(0);
  way.model.latency = microseconds(50);
  SECTION("nothing") {
    p.send(sent);
    CHECK(p.b.count == sent);
    CHECK(p.overtaken() == 0);
    CHECK(p.b.altered == 0);
  }
  SECTION("loss") {
    way.loss_ppm = 100'000;
    p.send(sent);
    about_one_in_ten(sent - p.b.count);
    CHECK(sent - p.b.count == 1990);
  }
  SECTION("repetition") {
    way.duplicate_ppm = 100'000;
    p.send(sent);
    about_one_in_ten(p.b.count - sent);
    CHECK(p.b.count - sent == 1998);
  }
  SECTION("disorder") {
    way.reorder_ppm = 100'000;
    p.send(sent);
    CHECK(p.b.count == sent);
    about_one_in_ten(p.overtaken());
    CHECK(p.overtaken() == 1998);
  }
  SECTION("damage") {
    way.corrupt_ppm = 100'000;
    p.send(sent);
    CHECK(p.b.count == sent);
    about_one_in_ten(p.b.altered);
    CHECK(p.b.altered == 1890);  // in some others the number in front is altered
  }
  SECTION("spikes") {
    way.spike_ppm = 100'000;
    way.spike = milliseconds(1);
    p.send(sent);
    CHECK(p.b.count == sent);
    about_one_in_ten(p.overtaken());
    CHECK(p.overtaken() == 2004);
  }
  CHECK(p.a.count == 0);
}

TEST_CASE("what is sent into a partition is lost, one way or both ways") {
  datagram_pair p;
  p.network.path(0, 1).blocked_until = milliseconds(10);
  REQUIRE(p.a.send(1, 1));
  REQUIRE(p.b.send(0, 2));
  p.run_for(milliseconds(5));
  CHECK(p.b.count == 0);
  CHECK(p.a.count == 1);
  p.network.path(1, 0).blocked_until = milliseconds(10);
  REQUIRE(p.b.send(0, 3));
  p.run_for(milliseconds(15));
  CHECK(p.b.count == 0);
  CHECK(p.a.count == 1);
  REQUIRE(p.a.send(1, 4));
  p.run_for(milliseconds(1));
  REQUIRE(p.b.count == 1);
  CHECK(p.b.heard[0].number == 4);
  // Datagrams that are under way when the block begins are lost too.
  REQUIRE(p.a.send(1, 5));
  p.network.path(0, 1).blocked_until = seconds(1);
  p.run_for(milliseconds(1));
  p.network.heal();
  p.run_for(seconds(2));
  CHECK(p.b.count == 1);
  CHECK(p.a.port.statistics().sent == 3);
}

TEST_CASE("hosts that are not there are silent, and come back with the next life") {
  hosts h(7, 3);
  datagram_host a(h.world, h.datagrams, 0);
  auto b = std::make_unique<datagram_host>(h.world, h.datagrams, 1);
  const auto run = [&] { h.world.run_until(h.world.now() + milliseconds(1)); };
  REQUIRE(a.send(2));
  REQUIRE(a.send(1000));
  run();
  b->port.crash();
  b->home.detach();
  REQUIRE(a.send(1));
  run();
  // The crashed host continues for a while, but nothing it sends arrives.
  const std::byte nothing[1]{};
  REQUIRE(b->port.send(a.port.parse("host:0").value(), nothing));
  run();
  CHECK(b->count == 0);
  CHECK(a.count == 0);
  b->port.close();
  b.reset();
  b = std::make_unique<datagram_host>(h.world, h.datagrams, 1);
  REQUIRE(a.send(1));
  REQUIRE(b->send(0));
  run();
  CHECK(b->count == 1);
  CHECK(a.count == 1);
  CHECK(a.port.statistics().sent == 4);
}

TEST_CASE("a stalled host receives later what its queue had room for") {
  datagram_pair p(7, {.send_buffers = 100, .socket_bytes = 10 * (100 + 256)});
  p.b.home.stall_until(seconds(1));
  for (std::uint32_t i = 0; i < 30; ++i) REQUIRE(p.a.send(1, i));
  p.run_for(milliseconds(999));
  CHECK(p.b.count == 0);
  p.run_for(milliseconds(2));
  CHECK(p.b.count == 10);
  CHECK(p.b.heard[0].at == seconds(1));
  CHECK(p.b.heard[9].at == seconds(1) + 9 * microseconds(1));
  CHECK(p.b.port.statistics().dropped == 20);
  CHECK(p.b.port.statistics().received == 10);
  REQUIRE(p.a.send(1, 99));
  p.run_for(milliseconds(1));
  CHECK(p.b.heard.back().number == 99);
}

TEST_CASE("a simulated port delivers no more than its owner can hold") {
  datagram_pair p(7, {.receive_buffers = 2});
  p.b.hold = true;
  for (std::uint32_t i = 0; i < 6; ++i) REQUIRE(p.a.send(1, i));
  p.run_for(milliseconds(1));
  CHECK(p.b.count == 2);
  p.b.home.enter([&] { p.b.held.pop_front(); });
  p.run_for(milliseconds(1));
  CHECK(p.b.count == 3);
  p.b.hold = false;
  p.b.home.enter([&] { p.b.held.clear(); });
  p.run_for(milliseconds(1));
  REQUIRE(p.b.count == 6);
  for (std::uint32_t i = 0; i < 6; ++i) CHECK(p.b.heard[i].number == i);
}

TEST_CASE("a simulated port may close from its own callback and while datagrams wait") {
  datagram_pair p;
  p.b.then = [&](const datagram_address&, const buffer_view&) { p.b.port.close(); };
  p.b.home.stall_until(milliseconds(1));
  for (std::uint32_t i = 0; i < 5; ++i) REQUIRE(p.a.send(1, i));
  p.run_for(milliseconds(2));
  CHECK(p.b.count == 1);
  CHECK_FALSE(p.b.port.open());
  CHECK(p.b.send(0).error() == errc::closed);
  REQUIRE(p.b.port.bind("host:1", p.b));
  p.b.home.stall_until(seconds(1));
  REQUIRE(p.a.send(1));
  p.run_for(milliseconds(2));
  p.b.port.close();
  p.run_for(seconds(2));
  CHECK(p.b.count == 1);
}

TEST_CASE("what cannot be sent or bound in a simulation is refused with the reason") {
  datagram_pair p(7, {.max_bytes = 1000, .send_buffers = 3});
  CHECK(p.a.port.max_datagram_bytes() == 1000);
  const status large = p.a.send(1, 0, 1001);
  CHECK(large.error() == errc::too_large);
  CHECK_THAT(std::string(large.error().text()), Contains("1001") && Contains("limit is 1000"));
  CHECK(p.a.port.send({}, {}).error() == errc::invalid_argument);
  for (int i = 0; i < 3; ++i) REQUIRE(p.a.send(1));
  CHECK(p.a.send(1).error() == errc::busy);
  CHECK(p.a.port.statistics().busy == 1);
  p.run_for(milliseconds(1));
  CHECK(p.b.count == 3);
  CHECK(p.a.send(1));

  CHECK(p.a.port.bind("host:0", p.a).error() == errc::already_exists);
  sim_datagram_port second(p.datagrams, p.a.home);
  CHECK(second.bind("host:0", p.a).error() == errc::already_exists);
  CHECK(second.bind("host:1", p.a).error() == errc::invalid_argument);
  sim_datagram_port wrong(p.datagrams, p.a.home, {.max_bytes = 70000});
  CHECK(wrong.bind("host:0", p.a).error() == errc::invalid_argument);
  for (const char* text :
       {"host:", "host:x", "host:1x", "1", "", "127.0.0.1:5", "host:-1", "host:4294967296"})
    CHECK(second.parse(text).error() == errc::invalid_argument);
  CHECK(second.parse("host:1").value() < second.parse("host:256").value());
  CHECK(second.print(second.parse("host:70000").value()) == "host:70000");
}

TEST_CASE("equal seeds give equal traces of datagrams") {
  const auto trace = [](std::uint64_t seed, std::uint32_t loss_ppm) {
    datagram_pair p(seed);
    sim_path& way = p.network.path(0, 1);
    way.loss_ppm = loss_ppm;
    way.duplicate_ppm = way.reorder_ppm = way.corrupt_ppm = way.spike_ppm = 50'000;
    p.send(500);
    return p.world.trace_hash();
  };
  CHECK(trace(1, 50'000) == trace(1, 50'000));
  CHECK(trace(1, 50'000) != trace(2, 50'000));
  CHECK(trace(1, 50'000) != trace(1, 60'000));
}

TEST_CASE("simulated datagrams allocate nothing once warm") {
  datagram_pair p;
  p.a.record = p.b.record = false;
  const auto round = [&] {
    for (std::uint32_t i = 0; i < 8; ++i) static_cast<void>(p.a.send(1, i));
    p.run_for(milliseconds(1));
  };
  const datagram_address to = p.a.port.parse("host:1").value();
  round();
  const std::size_t before = allocation_counter::on_this_thread();
  for (int i = 0; i < 100; ++i) {
    for (int n = 0; n < 8; ++n) static_cast<void>(p.a.port.send(to, p.a.scratch));
    p.run_for(milliseconds(1));
  }
  CHECK(allocation_counter::on_this_thread() == before);
  CHECK(p.b.count == 808);
}

TEST_CASE("a host may have several addresses, each with its own cable") {
  sim_world world(7, 2);
  sim_network network(world, 4096, 4);  // host 0 has the addresses 0 and 2, host 1 has 1 and 3
  sim_datagrams datagrams(network);
  datagram_host a(world, datagrams, 0), b(world, datagrams, 1);
  std::size_t arrived = 0;
  struct counter final : datagram_events {
    explicit counter(std::size_t& to) : count(to) {}
    void on_datagram(const datagram_address&, const buffer_view&) noexcept override { ++count; }
    std::size_t& count;
  } counts(arrived);
  sim_datagram_port of_a(datagrams, a.home, 2), of_b(datagrams, b.home, 3);
  REQUIRE(of_a.bind("host:2", counts));
  REQUIRE(of_b.bind("host:3", counts));
  CHECK(of_b.bound_address() == "host:3");
  const auto send_on_both = [&] {
    REQUIRE(a.send(1));
    a.home.enter([&] { REQUIRE(of_a.send(of_a.parse("host:3").value(), {})); });
    world.run_until(world.now() + milliseconds(10));
  };
  send_on_both();
  CHECK(b.count == 1);
  CHECK(arrived == 1);
  datagrams.pull(2, world.now() + seconds(1));
  send_on_both();
  CHECK(b.count == 2);
  CHECK(arrived == 1);
  world.run_until(world.now() + seconds(2));
  send_on_both();
  CHECK(b.count == 3);
  CHECK(arrived == 2);
  of_a.close();
  of_b.close();
}
