#pragma once

#include <vector>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// A few stories about groups that must not end, or must not come back. Nothing is drawn; together with deaths
/// at each step they are the workload `groups`.
std::vector<exhausted> tell_of_group_ends();

}  // namespace scoll::sim
