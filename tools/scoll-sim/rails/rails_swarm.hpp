#pragma once

#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/run.hpp"

namespace scoll::sim {

/// Runs endpoints with two or three rails each, which call each other while rails fail, one always living.
/// Checks what must hold (docs/simulator.md). A run is a function of seed, hosts and fault profile.
run_report run_rails(const plan& p, testing::sim_world::observer observer = nullptr);

}  // namespace scoll::sim
