#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// Floods a revoke over the graphs of up to `most_members` members, from every initiator, with every set of
/// dead that is smaller than the degree; which member knows of which dead is drawn `draws` times. All
/// survivors must hear.
exhausted flood_with_drawn_views(std::uint32_t most_members, std::uint32_t draws, std::uint64_t seed);

/// The same where all know the same dead, of any number, and fewer others than the degree of the graph of
/// the rest are dead as well. Whom a member tells is asked of the library.
exhausted flood_with_equal_views(std::uint32_t most_members);

/// Both, and the same with real nodes (`kill_at_each_notice`), as `--exhaust revoke`.
std::vector<exhausted> exhaust_revoke(std::uint64_t seed);

}  // namespace scoll::sim
