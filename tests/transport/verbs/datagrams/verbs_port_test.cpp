#include "transport/verbs/verbs_port.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/support/allocation_counter.hpp"
#include "tests/transport/verbs/datagrams/ports.hpp"

using namespace ports;
using namespace std::chrono_literals;
using Catch::Matchers::Contains;

TEST_CASE("a datagram over RDMA waits until it is known where its name leads, and later ones do not") {
  two_hosts both;
  auto& [h, a, b] = both;
  CHECK(a.port.bound_address() == "verbs://10.0.0.1:7002");
  REQUIRE(a.send(2, 7));
  h.clock.run_for(1ms);
  REQUIRE(b.heard.size() == 1);
  CHECK(b.heard[0].from == "verbs://10.0.0.1:7002");
  CHECK(b.heard[0].number == 7);
  CHECK(b.heard[0].bytes == 100);
  REQUIRE(b.send(1, 8, 0));
  REQUIRE(a.send(2, 9));
  h.clock.run_for(30us);
  CHECK(b.numbers() == std::vector<std::uint32_t>{7, 9});
  h.clock.run_for(1ms);
  REQUIRE(a.heard.size() == 1);
  CHECK(a.heard[0].bytes == 0);
  CHECK(a.counts().questions == 1);
  CHECK(a.counts().answers == 1);
  CHECK(b.counts().answered == 1);
  CHECK(a.port.statistics().sent == 2);
  CHECK(a.port.statistics().sent_bytes == 200);
  CHECK(b.port.statistics().received_bytes == 200);
}

TEST_CASE("of the datagrams that wait for one name the latest leaves, and sixteen names can be waited for") {
  two_hosts both;
  auto& [h, a, b] = both;
  for (std::uint32_t i = 1; i <= 3; ++i) REQUIRE(a.send(2, i));
  for (std::uint32_t host = 3; host < 18; ++host) REQUIRE(a.send(host, 0));
  const status refused = a.send(18, 0);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == errc::busy);
  CHECK(a.port.statistics().busy == 1);
  h.clock.run_for(1ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{3});
  REQUIRE(a.send(18, 0));  // the first name has made room
  h.clock.run_for(2s);     // nobody answers for the others
  CHECK(a.counts().never_known == 16);
  CHECK(a.port.statistics().send_errors == 16);
  CHECK(a.counts().questions == 1 + 15 * 5 + 6);  // the last one, when its datagram was refused, too
  REQUIRE(a.send(19, 0));
  h.clock.run_for(2s);
}

TEST_CASE("a question that is lost is asked again, and its datagram still leaves") {
  two_hosts both;
  auto& [h, a, b] = both;
  h.udp.pull(2, h.clock.world().now() + 300ms);
  REQUIRE(a.send(2, 5));
  h.clock.run_for(390ms);
  CHECK(b.heard.empty());
  h.clock.run_for(20ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{5});
  CHECK(a.counts().questions == 3);
}

TEST_CASE("a peer that has been restarted and speaks is known at once") {
  fake_hosts h;
  rdma_host a(h, 1);
  auto b = std::make_unique<rdma_host>(h, 2);
  a.bind();
  b->bind();
  REQUIRE(a.send(2, 1));
  h.clock.run_for(1s);
  b.reset();
  b = std::make_unique<rdma_host>(h, 2);
  b->bind();
  REQUIRE(b->send(1, 2));
  h.clock.run_for(1ms);
  CHECK(a.numbers() == std::vector<std::uint32_t>{2});  // it is not lost
  CHECK(a.counts().restarts == 1);
  CHECK(a.counts().questions == 2);
  REQUIRE(a.send(2, 3));
  h.clock.run_for(1ms);
  CHECK(b->numbers() == std::vector<std::uint32_t>{3});
  CHECK(a.counts().handles == 1);  // it leads to the same port as before
  CHECK(a.counts().restarts == 1);
  CHECK(a.counts().forged == 0);
}

TEST_CASE("a peer that has been restarted and is silent is found by the fifth datagram to it") {
  fake_hosts h;
  rdma_host a(h, 1);
  auto b = std::make_unique<rdma_host>(h, 2);
  a.bind();
  b->bind();
  REQUIRE(a.send(2, 0));
  REQUIRE(b->send(1, 0));
  h.clock.run_for(1s);
  b.reset();
  b = std::make_unique<rdma_host>(h, 2);
  b->bind();
  for (std::uint32_t i = 1; i <= 4; ++i) {
    REQUIRE(a.send(2, i));
    h.clock.run_for(1ms);
  }
  CHECK(b->heard.empty());  // with the fourth a question was asked
  REQUIRE(a.send(2, 5));
  h.clock.run_for(1ms);
  CHECK(b->numbers() == std::vector<std::uint32_t>{5});
  CHECK(a.counts().questions == 2);
}

TEST_CASE("a silent peer is asked about at most every 200 ms") {
  fake_hosts h;
  rdma_host a(h, 1);
  {
    rdma_host b(h, 2);
    a.bind();
    b.bind();
    REQUIRE(a.send(2, 0));
    h.clock.run_for(1s);
  }
  for (std::uint32_t i = 0; i < 1000; ++i) {
    REQUIRE(a.send(2, i));
    h.clock.run_for(1ms);
  }
  CHECK(a.counts().questions == 6);
}

TEST_CASE("a datagram that is too long is refused before it is posted, as the device would not tell") {
  fake_hosts h;
  h.devices.set_mtu(2048);
  rdma_host a(h, 1), b(h, 2);
  CHECK(a.port.max_datagram_bytes() == 992);
  REQUIRE(a.port.prepare(name_of_host(1)));
  CHECK(a.port.max_datagram_bytes() == 2016);
  a.bind();
  b.bind();
  REQUIRE(a.send(2, 1, 2016));
  const status refused = a.send(2, 1, 2017);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == errc::too_large);
  h.clock.run_for(1ms);
  REQUIRE(b.heard.size() == 1);
  CHECK(b.heard[0].bytes == 2016);
  CHECK(h.devices.statistics().datagrams_too_long == 0);
}

TEST_CASE("a datagram that is too long for its peer is refused, with the peer's MTU") {
  fake_hosts h;
  rdma_host a(h, 1), b(h, 2);
  a.bind();
  h.devices.set_mtu(1024);
  b.bind();
  REQUIRE(a.send(2, 1, 3000));  // nothing is known yet
  h.clock.run_for(1ms);
  CHECK(b.heard.empty());
  CHECK(a.port.statistics().send_errors == 1);
  const status refused = a.send(2, 1, 3000);
  REQUIRE_FALSE(refused.has_value());
  CHECK(refused.error().code() == errc::too_large);
  CHECK_THAT(std::string(refused.error().text()), Contains("the MTU of 10.0.0.2:7002 is 1024"));
  REQUIRE(a.send(2, 2, 992));
  h.clock.run_for(1ms);
  CHECK(b.numbers() == std::vector<std::uint32_t>{2});
}

TEST_CASE("names beyond the most that are remembered are asked about again, and their handles are freed") {
  fake_hosts h;
  verbs_port_options few;
  few.names = 32;
  rdma_host a(h, 0, few);
  std::vector<std::unique_ptr<rdma_host>> others;
  a.bind();
  for (std::uint32_t i = 1; i <= 40; ++i) others.emplace_back(std::make_unique<rdma_host>(h, i))->bind();
  for (std::uint32_t round = 0; round < 2; ++round) {
    for (std::uint32_t i = 1; i <= 40; ++i) {
      REQUIRE(a.send(i, round));
      h.clock.run_for(1ms);
    }
  }
  for (const auto& each : others) CHECK(each->numbers() == up_to(2));
  CHECK(a.counts().questions == 80);
  CHECK(a.counts().handles == 80);
  CHECK(a.counts().handles_now == 32);
  CHECK(h.devices.statistics().address_handles == 32);
  REQUIRE(a.send(40, 2));
  h.clock.run_for(1ms);
  CHECK(a.counts().questions == 80);
}

TEST_CASE("a handle that has to go is freed only after the last datagram that is sent by it") {
  fake_hosts h(64, 1us);
  h.net.common_path().model.ps_per_byte = 10'000'000;  // a datagram takes 1.3 ms
  verbs_port_options few;
  few.names = 32;
  rdma_host a(h, 0, few), b(h, 1);
  a.bind();
  b.bind();
  REQUIRE(a.send(1, 0));
  h.clock.run_for(20ms);
  CHECK(a.counts().handles_now == 1);
  for (std::uint32_t i = 1; i < 20; ++i) REQUIRE(a.send(1, i));
  h.clock.run_for(1ms);
  for (std::uint32_t i = 2; i < 40; ++i) static_cast<void>(a.send(i, 0));  // the first name has to go
  h.clock.run_for(10ms);
  CHECK(a.counts().handles_now == 1);
  h.clock.run_for(1200ms);
  CHECK(a.counts().handles_now == 0);
  CHECK(h.devices.statistics().address_handles == 0);
  CHECK(b.numbers() == up_to(20));  // the fake devices have checked that no call was illegal
}

TEST_CASE("datagrams are lost, repeated and out of order, and none is altered") {
  fake_hosts h;
  sim_path& way = h.net.path(1, 2);
  rdma_host a(h, 1), b(h, 2);
  a.bind();
  b.bind();
  REQUIRE(a.send(2, 0));
  h.clock.run_for(10ms);
  b.heard.clear();
  way.loss_ppm = 200'000;
  way.duplicate_ppm = 200'000;
  way.reorder_ppm = 200'000;
  for (std::uint32_t i = 0; i < 500; ++i) {
    REQUIRE(a.send(2, i));
    h.clock.run_for(5us);
  }
  h.clock.run_for(10ms);
  std::vector<std::uint32_t> heard = b.numbers();
  CHECK_FALSE(std::is_sorted(heard.begin(), heard.end()));
  std::sort(heard.begin(), heard.end());
  const auto last = std::unique(heard.begin(), heard.end());
  CHECK(last != heard.end());
  const auto different = last - heard.begin();
  CHECK(different > 350);
  CHECK(different < 450);
  CHECK(a.port.statistics().sent == 501);
  CHECK(b.counts().malformed == 0);
}

TEST_CASE("who has no buffer for a datagram drops it, and what is held stays valid") {
  fake_hosts h;
  verbs_port_options few;
  few.receive_buffers = 2;
  rdma_host a(h, 1), b(h, 2, few);
  a.bind();
  b.bind();
  b.hold = true;
  for (std::uint32_t i = 0; i < 5; ++i) {
    REQUIRE(a.send(2, i));
    h.clock.run_for(1ms);
  }
  CHECK(b.numbers() == up_to(2));
  CHECK(b.port.statistics().dropped == 3);
  CHECK(static_cast<unsigned>(b.held[1].bytes[0]) == 1);
  b.held.clear();
  REQUIRE(a.send(2, 9));
  h.clock.run_for(1ms);
  CHECK(b.heard.size() == 3);
}

TEST_CASE("in the steady state datagrams over RDMA allocate nothing") {
  struct silent final : datagram_events {
    void on_datagram(const datagram_address&, const buffer_view&) noexcept override { ++count; }
    std::uint32_t count = 0;
  };
  fake_hosts h;
  rdma_host a(h, 1), b(h, 2);
  silent at_a, at_b;
  REQUIRE(a.port.bind(name_of_host(1), at_a));
  REQUIRE(b.port.bind(name_of_host(2), at_b));
  const datagram_address to = a.port.parse(name_of_host(2)).value();
  const datagram_address back = b.port.parse(name_of_host(1)).value();
  const std::vector<std::byte> content(500);
  std::uint32_t sent = 0;
  const auto exchange = [&] {
    for (int i = 0; i < 20; ++i) {
      sent += a.port.send(to, content).has_value() ? 1U : 0U;
      static_cast<void>(b.port.send(back, content));
    }
    h.clock.run_for(1ms);
  };
  for (int i = 0; i < 20; ++i) exchange();
  const std::uint32_t heard = at_b.count;
  const std::size_t before = allocation_counter::on_this_thread();
  exchange();
  const std::size_t used = allocation_counter::on_this_thread() - before;
  CHECK(used == 0);
  CHECK(at_b.count == heard + 20);
  CHECK(at_a.count == at_b.count);
  CHECK(sent == 420);
}
