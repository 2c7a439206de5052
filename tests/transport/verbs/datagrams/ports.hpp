#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/verbs/fake_udp.hpp"
#include "transport/sim/verbs/fake_verbs.hpp"
#include "transport/sim/virtual_executor.hpp"
#include "transport/verbs/verbs_api.hpp"
#include "transport/verbs/verbs_port.hpp"

/// Hosts with fake RDMA devices and a simulated UDP beside them.
namespace ports {

using namespace scoll;
using namespace scoll::testing;
using namespace scoll::transport;

inline std::string name_of_host(std::uint32_t number) {
  return "verbs://" + fake_udp_port::address_of(number);
}

struct fake_hosts {
  explicit fake_hosts(std::uint32_t count = 64, nanoseconds latency = std::chrono::microseconds(10))
      : net(clock.world(), 4096, count) {
    net.common_path().model = sim_link_model::ideal(latency);
  }
  ~fake_hosts() {
    const auto seen = devices.statistics();
    CHECK(seen.illegal_calls == 0);
    CHECK(seen.protection_errors == 0);
    CHECK(seen.overruns == 0);
    CHECK(seen.queue_pairs == 0);
    CHECK(seen.address_handles == 0);
  }

  virtual_executor clock;
  sim_network net;
  sim_datagrams udp{net};
  fake_verbs devices{net};
};

/// The numbers from 0 on, so many.
inline std::vector<std::uint32_t> up_to(std::uint32_t count) {
  std::vector<std::uint32_t> all;
  for (std::uint32_t i = 0; i < count; ++i) all.push_back(i);
  return all;
}

/// A host with a port for datagrams over RDMA. Each datagram carries a number.
struct rdma_host final : datagram_events {
  struct arrival {
    std::string from;
    std::uint32_t number = 0;
    std::size_t bytes = 0;
  };

  rdma_host(fake_hosts& h, std::uint32_t host_number, verbs_port_options options = {})
      : all(h),
        number(host_number),
        api(h.devices.api(h.clock, host_number)),
        under(h.udp, h.clock, host_number),
        port(h.clock, *api, under, std::move(options)) {}
  ~rdma_host() {
    held.clear();
    end();
  }
  rdma_host(const rdma_host&) = delete;
  rdma_host& operator=(const rdma_host&) = delete;

  void bind() { REQUIRE(port.bind(name_of_host(number), *this)); }
  void end() {
    port.close();
    for (int i = 0; port.open() && i < 10'000; ++i) all.clock.run_for(std::chrono::milliseconds(1));
    CHECK_FALSE(port.open());
  }
  status send(std::uint32_t to, std::uint32_t what, std::size_t bytes = 100) {
    std::vector<std::byte> content(bytes);
    if (bytes != 0) std::memcpy(content.data(), &what, std::min(sizeof what, bytes));
    return port.send(port.parse(name_of_host(to)).value(), content);
  }
  void on_datagram(const datagram_address& source, const buffer_view& bytes) noexcept override {
    arrival a{port.print(source), 0, bytes.bytes.size()};
    if (!bytes.bytes.empty())
      std::memcpy(&a.number, bytes.bytes.data(), std::min(sizeof a.number, bytes.bytes.size()));
    heard.push_back(a);
    if (hold) held.push_back(bytes);
    if (then) then(source);
  }
  std::vector<std::uint32_t> numbers() const {
    std::vector<std::uint32_t> found;
    for (const arrival& a : heard) found.push_back(a.number);
    return found;
  }
  verbs_port_statistics counts() const { return port.verbs_statistics(); }

  fake_hosts& all;
  std::uint32_t number;
  std::shared_ptr<verbs_api> api;
  fake_udp_port under;
  verbs_port port;
  bool hold = false;
  std::deque<arrival> heard;
  std::vector<buffer_view> held;
  std::function<void(const datagram_address&)> then;
};

/// Hosts 1 and 2, whose ports are bound.
struct two_hosts {
  two_hosts() {
    a.bind();
    b.bind();
  }

  fake_hosts h;
  rdma_host a{h, 1}, b{h, 2};
};

}  // namespace ports
