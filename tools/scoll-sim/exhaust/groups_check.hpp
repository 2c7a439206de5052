#pragma once

#include <cstdint>
#include <vector>

#include "scoll/tree/spec.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Creates a group, then a delayed one, broadcasts to it twice and destroys it, over and over: in each run
/// another member dies at another step of the first run, which nobody disturbs. Groups, executions and
/// outcomes must be right among the survivors, and nothing may be left.
exhausted kill_at_each_step(const tree_spec& tree, std::uint32_t members);

/// Makes the same check for 2 to 17 members, as `--exhaust groups` does. No choice is random.
std::vector<exhausted> exhaust_groups(const exhaust_settings& settings);

}  // namespace scoll::sim
