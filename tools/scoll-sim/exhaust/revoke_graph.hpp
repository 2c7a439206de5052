#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Floods a revoke over the graphs of up to `most_members` members, from every initiator, with every set of
/// dead that is smaller than the degree; which member knows of which dead is drawn `draws` times. All
/// survivors must hear.
exhausted flood_with_drawn_views(std::uint32_t most_members, std::uint32_t draws, std::uint64_t seed);

/// Makes the same check where all members know the same dead, of any number, and where fewer other members
/// than the degree of the graph of the rest are dead as well. The library itself chooses the members that
/// each one tells.
exhausted flood_with_equal_views(std::uint32_t most_members);

/// Makes both checks, and those with real nodes (`kill_at_each_notice`), as `--exhaust revoke`.
std::vector<exhausted> exhaust_revoke(const exhaust_settings& settings);

}  // namespace scoll::sim
