#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/exhaust/agree_model.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Visits every state of the agreement's model within these bounds.
exhausted check_agreement(const agree_bounds& bounds);

/// All parts of `--exhaust agree`. Nothing is drawn.
std::vector<exhausted> exhaust_agree(const exhaust_settings& settings);
/// Makes the same check with fewer runs of nodes.
std::vector<exhausted> exhaust_agree_briefly();

}  // namespace scoll::sim
