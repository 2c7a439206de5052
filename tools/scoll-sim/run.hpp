#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tools/scoll-sim/coverage.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/properties/properties.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::sim {

/// The result of one run, or the sum over many.
struct run_report {
  std::uint64_t trace_hash = 0;
  std::uint64_t events = 0;
  std::uint64_t bytes = 0;
  std::uint64_t broadcasts = 0;
  std::uint64_t clean = 0;
  std::uint64_t faults = 0;
  std::uint64_t groups = 0;
  std::uint64_t lives = 0;
  std::array<std::uint64_t, 5> members{};  ///< by `member_state`
  coverage seen;                           ///< in how many runs each thing was seen
  violations found;
  std::string last_events;  ///< per host, if a property failed

  void add(const run_report& other);
};

/// Runs a plan to its end, then heals the network, waits until all activity has ended and checks every
/// property.
run_report run(const plan& p, testing::sim_world::observer observer = nullptr);

}  // namespace scoll::sim
