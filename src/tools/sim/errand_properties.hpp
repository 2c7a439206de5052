#pragma once

#include "properties.hpp"

namespace scoll::sim {

/// What must hold of every shipped call, whatever happened; checked when the dust has settled.
void check_errands(const cluster& c, violations& found);
/// What must hold of every live node's calls when nothing has happened for a while.
void check_errands_settled(cluster& c, violations& found);
/// What must hold at any time: bounds on what runs and on what is held.
void check_errand_bounds(cluster& c, violations& found);
/// When all faults are over everybody who lives answers everybody's call.
void check_errand_roll_call(const cluster& c, violations& found);

}  // namespace scoll::sim
