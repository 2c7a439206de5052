#pragma once

#include "properties.hpp"

namespace scoll::sim {

/// What must hold of every shipped call, whatever happened; checked when the dust has settled.
void check_errands(const cluster& c, violations& found);
/// What must hold of the memory that calls carry descriptors of, and of its transfers.
void check_hauls(const cluster& c, violations& found);
/// What must hold of every live node's calls when nothing has happened for a while.
void check_errands_settled(cluster& c, violations& found);
/// What must hold at any time: bounds on what runs and on what is held.
void check_errand_bounds(cluster& c, violations& found);
/// When all faults are over everybody who lives answers everybody's call.
void check_errand_roll_call(const cluster& c, violations& found);

/// How long by its host's clock something may take that has a deadline: the host's stalls come on top.
nanoseconds allowance(const cluster& c, std::uint32_t host, nanoseconds deadline, nanoseconds began,
                      nanoseconds ended);

}  // namespace scoll::sim
