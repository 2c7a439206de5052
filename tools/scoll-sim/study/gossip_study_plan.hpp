#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/study/gossip_study.hpp"

namespace scoll::sim {

/// The number of pairs examined for a row of one size: more than a thousand million.
inline constexpr double pairs_of_one_size = 1.1e9;

/// Three cases of one size and loss: the participant as it is, the participant with the source's ages, and
/// the source. The last two are so far from the first that a quarter of the pairs shows the difference.
std::vector<study_case> gossip_study_of_one_size(std::uint32_t nodes, double loss, double pairs);

/// All rows of docs/gossip.csv, in their order.
std::vector<study_case> whole_gossip_study();

/// Estimates the cost of a case relative to others.
double cost_of(const study_case& c);

}  // namespace scoll::sim
