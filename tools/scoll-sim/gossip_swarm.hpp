#pragma once

#include "plan.hpp"
#include "run.hpp"

namespace scoll::sim {

/// Runs participants of the gossip as in production, on simulated datagrams and in virtual time: first a
/// calm, then the faults that the seed draws, then a calm again and a last death; checks what must hold
/// (docs/simulator.md). A run is a function of seed, hosts and fault profile.
run_report run_gossip(const plan& p, testing::sim_world::observer observer = nullptr);

}  // namespace scoll::sim
