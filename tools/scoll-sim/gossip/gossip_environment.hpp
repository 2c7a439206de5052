#pragma once

#include <cstdint>
#include <string>

#include "gossip/configuration.hpp"
#include "tools/scoll-sim/gossip/gossip_draws.hpp"
#include "tools/scoll-sim/gossip/gossip_weather.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/run.hpp"
#include "transport/sim/sim_datagram.hpp"
#include "transport/sim/sim_network.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// The things that all parts of a swarm share: random numbers, time, the network, what is drawn for the whole
/// run, and the report.
struct gossip_environment {
  gossip_environment(const plan& p, testing::sim_world::observer observer);

  nanoseconds now() const noexcept { return world.now(); }
  bool nothing_found() const noexcept { return report.found.empty(); }
  /// A host's address on a rail, as a number of the network.
  std::uint32_t address(std::uint32_t host, std::uint32_t rail) const noexcept { return rail * hosts + host; }
  /// Pulls the cable of a host on a rail until then.
  void pull(std::uint32_t host, std::uint32_t rail, nanoseconds until) {
    datagrams.pull(address(host, rail), until);
  }
  /// Adds a violation with the present time to the report, which keeps the first twenty.
  void violated(std::string property, std::string what);

  std::uint32_t hosts;
  fault_profile faults;
  gossip_draws draws;
  gossip_draws rail_draws;  ///< for rails and forgeries, which other draws do not depend on
  std::uint32_t rails;      ///< of every host
  testing::sim_world world;
  testing::sim_network network;
  testing::sim_datagrams datagrams;
  gossip_weather weather;
  gossip::configuration_ptr shared;
  gossip::configuration_ptr other;  ///< of the participant that disagrees with the others
  std::uint32_t threshold = 0;      ///< in cycles, without loss beyond the usual
  run_report report;
};

}  // namespace scoll::sim
