#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "scoll/collective/group_state.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/greedy.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::sim {

/// The members that each member of a group tells of a revoke by rank 0, as the library chooses them. Rank r
/// has the id r + 1, and nobody is held dead.
class revoke_order {
 public:
  revoke_order(std::uint32_t members, const tree_spec& tree);

  struct choice {
    std::vector<std::uint32_t> ranks;  ///< in order
    std::size_t children = 0;          ///< in the tree; these come first
  };
  /// The members that `rank` tells after it has heard from `from`; without that, as the one that begins.
  choice told_by(std::uint32_t rank, std::optional<std::uint32_t> from);
  /// The members that `rank` may tell or hear from, ascending.
  std::vector<std::uint32_t> known_by(std::uint32_t rank);

 private:
  detail::group_state group_;
  detail::notice_head notice_;
  any_tree tree_;
};

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

/// Draws different ranks other than 0, ascending.
std::vector<std::uint32_t> draw_dead(std::uint32_t members, std::uint32_t deaths, random_generator& random);

/// The courses of a number of draws of dead members.
struct revoke_draws {
  std::uint32_t median = 0;
  std::uint32_t worst = 0;
  std::uint32_t unheard = 0;  ///< over all draws
};
revoke_draws draw_revokes(const revoke_model& model, std::uint32_t deaths, std::uint32_t draws,
                          std::uint64_t seed);

}  // namespace scoll::sim
