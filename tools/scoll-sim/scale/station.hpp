#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <utility>

#include "scoll/node.hpp"
#include "scoll/node_pools.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// A simulated host with one real node, whose id is one more than the number of the host.
struct station {
  station(testing::sim_world& world, testing::sim_network& network, std::uint32_t host)
      : home(world, host, {}), rail(network, home) {}

  /// Starts the node, which knows the addresses of these hosts. `prepare` runs on the host, as its program.
  template <class Prepare>
  void start(std::uint32_t host, const std::shared_ptr<node_pools>& pools,
             std::span<const std::uint32_t> others, Prepare&& prepare) {
    home.enter([&] {
      node_options options;
      options.id = host + 1;
      options.cluster = "sim";
      options.incarnation = 1;
      self = std::make_unique<node>(home, rail, options, pools);
      self->listen(rail.listen_address()).value();
      for (const std::uint32_t other : others)
        self->add_peer(other + 1, testing::sim_network::address_of(other)).value();
      std::forward<Prepare>(prepare)(*self);
    });
  }

  testing::sim_executor home;
  testing::sim_rail rail;
  std::unique_ptr<node> self;
};

}  // namespace scoll::sim
