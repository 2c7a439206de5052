#include "attempts.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace shard {

using scoll::member_state;

scoll::rank_set lost_members(const scoll::outcome& outcome) {
  return outcome.not_reached() | outcome.unknown();
}

scoll::outcome join_outcomes(const scoll::outcome& first, const scoll::outcome& second) {
  std::vector<scoll::member_report> reports;
  std::vector<scoll::cause> causes(1);
  for (std::uint32_t rank = 0; rank != first.members(); ++rank) {
    const bool as_before =
        first.state(rank) == member_state::merged || second.state(rank) == member_state::excluded;
    const scoll::outcome& said = as_before ? first : second;
    const auto known = std::ranges::find(causes, said.why(rank));
    const auto index = static_cast<std::uint16_t>(known - causes.begin());
    if (known == causes.end()) causes.push_back(said.why(rank));
    const member_state state = said.state(rank);
    if (!reports.empty() && reports.back().state == state && reports.back().cause_index == index) {
      reports.back().members.last = rank + 1;
    } else {
      reports.push_back({{rank, rank + 1}, state, index});
    }
  }
  return {first.members(), std::move(reports), std::move(causes)};
}

}  // namespace shard
