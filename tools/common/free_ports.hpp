#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <fstream>
#include <random>
#include <vector>

#include "transport/io/socket.hpp"

namespace scoll::kit {

/// Returns ports of 127.0.0.1 for which `opens(address)` is true. They lie below the ports that the system
/// assigns to outgoing connections, because such a port could be taken before a server starts. Returns fewer
/// than `count` if there are no more.
template <class Opens>
std::vector<std::uint16_t> find_free_ports(unsigned count, Opens opens) {
  constexpr unsigned first = 10'000;
  unsigned end = 32'768;
  std::ifstream("/proc/sys/net/ipv4/ip_local_port_range") >> end;
  if (end <= first + count) end = 32'768;
  const unsigned range = end - first;
  const unsigned offset = std::random_device{}() % range;
  std::vector<std::uint16_t> ports;
  for (unsigned i = 0; i != range && ports.size() != count; ++i) {
    const unsigned port = first + (offset + i) % range;
    const auto address = transport::socket_address::parse(fmt::format("127.0.0.1:{}", port));
    if (address && opens(*address)) ports.push_back(static_cast<std::uint16_t>(port));
  }
  return ports;
}

}  // namespace scoll::kit
