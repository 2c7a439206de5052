#pragma once

#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/run.hpp"

namespace scoll::sim {

/// Runs participants of the gossip as in production, on simulated datagrams and in virtual time: first a calm
/// period, then the faults that the seed draws, then another calm period and a last death. Checks what must
/// hold (docs/simulator.md). A run is a function of seed, hosts and fault profile.
run_report run_gossip(const plan& p, testing::sim_world::observer observer = nullptr);

}  // namespace scoll::sim
