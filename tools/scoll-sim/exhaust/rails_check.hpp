#pragma once

#include <cstdint>
#include <vector>

#include "scoll/bulk/plan.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// How a rail is killed: nothing passes any more, or its connections are reset and new ones refused.
enum class rail_death : std::uint8_t { silent, reset };

/// Four nodes with two rails each call each other, and the first one broadcasts bulk data by `plan`. In each
/// run the rail of one of the nodes, or of all, dies after another one of the frames that arrive anywhere.
/// Nothing may fail, nothing may happen twice, and no session may end.
exhausted kill_rails_at_each_frame(const bulk_plan& plan, rail_death how);

std::vector<exhausted> exhaust_rails(const exhaust_settings& settings);

}  // namespace scoll::sim
