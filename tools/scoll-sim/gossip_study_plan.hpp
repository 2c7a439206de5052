#pragma once

#include <cstdint>
#include <vector>

#include "gossip_study.hpp"

namespace scoll::sim {

/// Pairs looked at for a row of one size: more than a thousand million.
inline constexpr double pairs_of_one_size = 1.1e9;

/// The participant as it is, with the source's ages, and the source: of one size and loss. The latter two
/// are so far from the first that a quarter of the pairs shows it.
std::vector<study_case> gossip_study_of_one_size(std::uint32_t nodes, double loss, double pairs);

/// All rows of docs/gossip.csv, in their order.
std::vector<study_case> whole_gossip_study();

/// What a case costs, beside others.
double cost_of(const study_case& c);

}  // namespace scoll::sim
