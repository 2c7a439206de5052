#pragma once

#include "tools/scoll-sim/rails/rails_faults.hpp"

namespace scoll::sim {

/// Draws which rails are made by RDMA, and in half of the seeds a weather in which their devices fail, in place
/// of what has been drawn.
void draw_devices(const plan& p, rails_plan& drawn);

}  // namespace scoll::sim
