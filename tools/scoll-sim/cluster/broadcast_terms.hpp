#pragma once

#include <cstdint>
#include <map>
#include <set>

#include "tools/scoll-sim/plan/number_set.hpp"
#include "tools/scoll-sim/plan/policy_events.hpp"
#include "tools/scoll-sim/plan/user_events.hpp"

namespace scoll::sim {

/// What the plan says of broadcasts before they begin, by number.
struct broadcast_terms {
  std::map<std::uint64_t, events::hooks> failing;
  std::map<std::uint64_t, events::manner> manners;
  std::map<std::uint64_t, events::policy> policies;
  std::map<std::uint64_t, events::reading> readings;
  std::map<std::uint64_t, number_set> subsets;  ///< hosts
  std::set<std::uint64_t> lasts;
};

}  // namespace scoll::sim
