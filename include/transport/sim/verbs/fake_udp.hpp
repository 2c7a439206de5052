#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "transport/io/datagram.hpp"
#include "transport/sim/sim_datagram.hpp"

namespace scoll::testing {

/// A simulated datagram port that looks like one of UDP: its addresses are socket addresses, such as those of
/// `address_of`, whose IP address is that of the host's fake RDMA device. A host has one such port.
class fake_udp_port final : public transport::datagram_port, private transport::datagram_events {
 public:
  /// The port of a host, whatever the host of `home` is: several hosts may share an executor.
  fake_udp_port(sim_datagrams& network, sim_executor& home, std::uint32_t host,
                sim_datagram_options options = {}) noexcept
      : port_(network, home, host, options), host_(host) {}

  /// "10.0.0.3:7002" for host 3.
  static std::string address_of(std::uint32_t host);

  status bind(const std::string& address, transport::datagram_events& events) noexcept override;
  std::string bound_address() const override;
  result<transport::datagram_address> parse(std::string_view text) const override;
  std::string print(const transport::datagram_address& address) const override;
  std::size_t max_datagram_bytes() const noexcept override { return port_.max_datagram_bytes(); }
  status send(const transport::datagram_address& to, std::span<const std::byte> bytes) noexcept override;
  void close() noexcept override { port_.close(); }
  bool open() const noexcept override { return port_.open(); }
  transport::datagram_statistics statistics() const noexcept override { return port_.statistics(); }
  /// As `sim_datagram_port::crash`.
  void crash() noexcept { port_.crash(); }

 private:
  void on_datagram(const transport::datagram_address& source,
                   const transport::buffer_view& bytes) noexcept override;

  sim_datagram_port port_;
  std::uint32_t host_;
  transport::datagram_events* events_ = nullptr;
};

}  // namespace scoll::testing
