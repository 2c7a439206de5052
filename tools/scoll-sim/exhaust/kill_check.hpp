#pragma once

#include <cstdint>
#include <vector>

#include "scoll/collective/options.hpp"
#include "scoll/tree/spec.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// The misfortune that befalls one member of a broadcast.
enum class member_end : std::uint8_t {
  loud,    ///< it is killed, its connections are reset, and soon everybody hears of its death
  silent,  ///< it is killed, and nobody is told
  reboot,  ///< it is killed loudly, and its next life begins at once
};

/// The runs of one broadcast: which group it is for, and what happens to each of its members.
struct kill_bounds {
  tree_spec tree;
  std::uint32_t members = 2;
  failure_policy policy = degrade;
  member_end what = member_end::loud;
  std::uint32_t stride = 1;  ///< of the steps at which something happens
};

/// Broadcasts once, over and over: in each run another member, which may be the root, meets its end at another
/// step of the run that nobody disturbs. A step is a delivery, a timer or a turn of a coroutine on any node.
/// Services count their executions, and by that count the state of every member must be exact.
exhausted kill_members_at_each_step(const kill_bounds& bounds);

/// All members from 2 to 33, over chains, k-nomial and k-ary trees, with each policy.
std::vector<exhausted> exhaust_kill(const exhaust_settings& settings);

}  // namespace scoll::sim
