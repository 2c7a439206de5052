#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "scoll/tree/greedy.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::sim {

/// A revoke in LogP: the time unit is o, which a host needs for each notice that it sends or receives; a host
/// does one thing at a time, and receives before it sends.
struct revoke_model {
  std::uint32_t members = 0;  ///< 2 to `max_members`
  /// From turning to a neighbour until it has received the notice, in o; at least 2.
  std::uint32_t reach = 7;
  tree_spec tree = greedy{7, 2, 0};  ///< whose children a member tells first
  bool nearest_first = false;        ///< the order of the other neighbours, for comparison
};

/// The course of one flood.
struct revoke_course {
  std::uint32_t last = 0;  ///< when the last member has heard, in o
  std::uint64_t notices = 0;
  std::uint32_t unheard = 0;  ///< living members that never hear
};

/// Computes the course of a revoke by rank 0 while the ranks in `dead` (ascending, without 0) are dead and
/// nobody knows it.
revoke_course flood_revoke(const revoke_model& model, std::span<const std::uint32_t> dead);

/// The courses of a number of draws of dead members.
struct revoke_draws {
  std::uint32_t median = 0;
  std::uint32_t worst = 0;
  std::uint32_t unheard = 0;  ///< over all draws
};
revoke_draws draw_revokes(const revoke_model& model, std::uint32_t deaths, std::uint32_t draws,
                          std::uint64_t seed);

/// A line for `--scale --revoke`, and its heading.
std::string revoke_model_heading();
std::string revoke_model_line(const revoke_model& model, std::uint64_t seed, bool& all_heard);

}  // namespace scoll::sim
