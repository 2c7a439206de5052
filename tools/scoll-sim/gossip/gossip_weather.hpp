#pragma once

#include <cstdint>

#include "tools/scoll-sim/gossip/gossip_draws.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// The kinds of faults that a seed has.
struct gossip_weather {
  std::uint32_t hosts = 0;
  bool gentle = true;  ///< no false verdict is forgiven
  std::uint32_t loss_ppm = 0, duplicate_ppm = 0, reorder_ppm = 0, corrupt_ppm = 0, late_ppm = 0;
  bool crashes = false;
  bool quick = false;  ///< some hosts come back soon after a crash
  bool stalls = false, isolation = false, partitions = false;
  bool skewed = false;   ///< clocks are up to 1 % off
  bool fast = false;     ///< the clock of the first host runs 1.5 times as fast
  bool odd_one = false;  ///< the last host has another configuration

  bool odd(std::uint32_t host) const noexcept { return odd_one && host + 1 == hosts; }
  bool too_fast(std::uint32_t host) const noexcept { return fast && host == 0; }
};

gossip_weather draw_gossip_weather(gossip_draws& draws, fault_profile faults, std::uint32_t hosts);

/// Draws the clock of one life of a host.
testing::sim_clock draw_gossip_clock(gossip_draws& draws, const gossip_weather& w, std::uint32_t host);

}  // namespace scoll::sim
