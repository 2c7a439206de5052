#pragma once

#include "properties.hpp"

namespace scoll::sim {

/// Checks what must hold for every shipped call, whatever happened, when all activity has ended.
void check_errands(const cluster& c, violations& found);
/// Checks what must hold for the memory that descriptors in calls refer to, and for its transfers.
void check_hauls(const cluster& c, violations& found);
/// Checks what must hold for the calls of every live node when nothing has happened for a while.
void check_errands_settled(cluster& c, violations& found);
/// Checks what must hold at any time: bounds on running work and on held resources.
void check_errand_bounds(cluster& c, violations& found);
/// Checks that every live node answers a call from every live node when all faults are over.
void check_errand_roll_call(const cluster& c, violations& found);

/// The longest time, by its host's clock, for an operation with a deadline. Stalls of the host are added.
nanoseconds allowance(const cluster& c, std::uint32_t host, nanoseconds deadline, nanoseconds began,
                      nanoseconds ended);

}  // namespace scoll::sim
