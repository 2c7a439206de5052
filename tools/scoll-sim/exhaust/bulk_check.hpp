#pragma once

#include <cstdint>
#include <vector>

#include "scoll/bulk/plan.hpp"
#include "scoll/collective/options.hpp"
#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// The plans of the exhaustive check.
std::vector<bulk_plan> exhausted_bulk_plans();

/// Broadcasts with 1, 3 and q + 2 pieces of bulk data among so many members, q = ceil(log2 n), by one plan. In
/// each run a member, which may be the root, dies after another one of its steps; or one alters another one
/// of the pieces that it has checked. A step is a message that the member sends or receives, or a call of one
/// of its hooks. No hook may see a wrong byte, the outcome must be true, everybody whose way to the root lives
/// must execute, and all places come back. With `repair`, every survivor must execute and be merged.
exhausted exhaust_bulk_of(const bulk_plan& plan, std::uint32_t members, failure_policy policy = degrade);

/// The same for 2 to 17 members, every plan, and both policies.
std::vector<exhausted> exhaust_bulk(const exhaust_settings& settings);

}  // namespace scoll::sim
