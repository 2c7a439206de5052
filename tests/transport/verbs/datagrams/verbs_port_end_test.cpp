#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"

using namespace ports;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

// How a port for datagrams over RDMA fails, is closed, and is refused.

TEST_CASE("a device that fails is opened again, and its peers find the new queue pair") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 1));
  REQUIRE(b.send(1, 1));
  h.clock.run_for(10ms);
  a.heard.clear();
  b.hold = true;
  h.devices.fail_device(1);
  h.clock.run_for(1ms);
  REQUIRE(a.send(2, 2));  // lost
  CHECK(a.port.statistics().send_errors >= 1);
  CHECK(a.counts().device_failures == 1);
  h.clock.run_for(200ms);
  REQUIRE(a.send(2, 3));
  h.clock.run_for(1ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{1, 3});
  CHECK(b.counts().restarts == 1);
  REQUIRE(b.send(1, 4));
  h.clock.run_for(1ms);
  CHECK(a.numbers() == std::vector<std::uint32_t>{4});
}

TEST_CASE("a port that is down keeps datagrams away, and a device that cannot be opened is tried again") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 1));
  h.clock.run_for(10ms);
  h.devices.set_port(1, false);
  h.devices.fail_device(1);
  h.clock.run_for(10s);
  CHECK(a.counts().device_failures == 1);
  h.devices.set_port(1, true);
  h.clock.run_for(2100ms);
  REQUIRE(a.send(2, 2));
  h.clock.run_for(1ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{1, 2});
}

TEST_CASE("a device that refuses a datagram is put away and opened again") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 0));
  h.clock.run_for(10ms);
  h.devices.refuse_send_after(1, 2);
  for (std::uint32_t i = 1; i <= 4; ++i) REQUIRE(a.send(2, i));
  h.clock.run_for(300ms);
  CHECK(b.numbers() == up_to(3));
  CHECK(a.port.statistics().send_errors >= 2);
  REQUIRE(a.send(2, 5));
  h.clock.run_for(1ms);
  CHECK(b.heard.back().number == 5);
}

TEST_CASE("a port ends at any moment, and datagrams of its last turn still leave") {
  fake_hosts h;
  rdma_host b(h, 2);
  b.bind();
  {
    rdma_host a(h, 1);
    a.bind();
    REQUIRE(a.send(2, 0));
    h.clock.run_for(1ms);
    REQUIRE(a.send(2, 1));
    REQUIRE(a.send(2, 2));
    a.port.close();
    CHECK(a.send(2, 3).error().code() == errc::closed);
    a.end();
    a.bind();  // and again
    REQUIRE(a.send(2, 3));
    h.clock.run_for(1ms);
  }
  CHECK(b.numbers() == up_to(4));
  CHECK(b.counts().restarts == 0);  // it has never sent to that name, so it knows nothing of its lives
  for (const nanoseconds when : {0us, 5us, 15us, 25us, 35us, 45us, 60us, 100us}) {
    rdma_host a(h, 1);
    a.bind();
    REQUIRE(a.send(2, 9));
    h.clock.run_for(when);
  }
  for (const nanoseconds when : {0us, 1us, 10us, 25us, 50us, 90us}) {
    rdma_host a(h, 1);
    a.bind();
    REQUIRE(a.send(2, 9));
    h.clock.run_for(1ms);
    h.devices.fail_device(1);
    h.clock.run_for(when);
  }
}

TEST_CASE("a port that closes while a handle is being made still sends what it was given") {
  fake_hosts h(64, 1us);
  rdma_host a(h, 1), b(h, 2), c(h, 3);
  a.bind();
  b.bind();
  c.bind();
  REQUIRE(a.send(2, 0));
  h.clock.run_for(1ms);
  h.net.common_path().model.ps_per_byte = 1'000'000;  // a datagram takes 132 us
  h.devices.set_control_time(400us);
  REQUIRE(a.send(3, 0));
  h.clock.run_for(300us);  // its question is answered, and its handle being made
  for (std::uint32_t i = 1; i < 10; ++i) REQUIRE(a.send(2, i));
  a.port.close();
  h.clock.run_for(10ms);
  CHECK(b.numbers() == up_to(10));
}

TEST_CASE("the owner of a port may close it while it is told of a datagram") {
  two_hosts both;
  auto& [h, a, b] = both;
  REQUIRE(a.send(2, 0));
  h.clock.run_for(1ms);
  b.then = [&](const datagram_address& source) {
    const std::byte answer[4]{};
    CHECK(b.port.send(source, answer).has_value());
    b.port.close();
  };
  for (std::uint32_t i = 1; i < 4; ++i) REQUIRE(a.send(2, i));
  h.clock.run_for(200ms);
  CHECK(b.numbers() == up_to(2));
  CHECK_FALSE(b.port.open());
}

TEST_CASE("a port says what is wrong with its address, its options or its device") {
  fake_hosts h;
  const auto refusal = [&](const std::string& address, verbs_port_options options = {}) {
    rdma_host a(h, 1, std::move(options));
    const status s = a.port.bind(address, a);
    REQUIRE_FALSE(s.has_value());
    CHECK_FALSE(a.port.open());
    return std::string(s.error().text());
  };
  CHECK_THAT(refusal("tcp://10.0.0.1:7002"), Contains("expected verbs://"));
  CHECK_THAT(refusal("verbs://0.0.0.0:7002"), Contains("does not name one host"));
  CHECK_THAT(refusal("verbs://10.0.0.9:7002"), Contains("no RoCEv2 address 10.0.0.9"));
  CHECK_THAT(refusal("verbs://10.0.0.1:7003"), Contains("is not the address of"));  // of the port below
  CHECK_THAT(refusal(name_of_host(1), {.device = "mlx5_0"}), Contains("a fake device is called fake0"));
  CHECK_THAT(refusal(name_of_host(1), {.max_bytes = 5000}), Contains("allows 4064"));
  CHECK_THAT(refusal(name_of_host(1), {.send_buffers = 1}), Contains("datagrams.send_buffers is 1"));
  h.devices.set_mtu(512);
  CHECK_THAT(refusal(name_of_host(1)), Contains("has an MTU of 512, and datagrams need 1024"));
  h.devices.set_mtu(4096);
  h.devices.set_port(1, false);
  CHECK_THAT(refusal(name_of_host(1)), Contains("port 1 of fake0 is down"));
  rdma_host a(h, 1);
  CHECK(a.port.parse("verbs://0.0.0.0:7002").error().code() == errc::invalid_argument);
  CHECK(a.port.print(a.port.parse("verbs://10.0.0.3:9").value()) == "verbs://10.0.0.3:9");
  CHECK(a.send(2, 0).error().code() == errc::closed);
}
