#pragma once

#include <cstdint>

#include "scoll/ids.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"

namespace scoll::sim {

/// The hosts whose nodes are clients, and the ids of all nodes.
struct client_hosts {
  number_set hosts;

  bool contain(std::uint32_t host) const noexcept { return hosts.contains(host); }
  node_id id_of(std::uint32_t host) const noexcept {
    return (contain(host) ? transport::client_bit : 0) | (host + 1);
  }
  static std::uint32_t host_of(node_id node) noexcept {
    return static_cast<std::uint32_t>((node & ~transport::client_bit) - 1);
  }
};

}  // namespace scoll::sim
