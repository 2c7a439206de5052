#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/replay_window.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::transport {
class session;
}

namespace scoll::detail {

/// What a node knows of a group.
struct group_state {
  struct root_window {
    std::uint32_t root_rank;
    std::uint64_t incarnation;
    replay_window window;
  };

  group_id id;
  membership_ptr members;
  std::uint32_t self_rank = 0;
  service_id service{};
  tree_spec tree;
  struct resolved_tree {
    std::uint32_t members = 0;
    any_tree tree;
  };
  std::array<resolved_tree, 2> resolved;                                // those used last, the latest first
  subset_ptr last_subset;                                               // that came in a request
  std::vector<std::pair<std::uint32_t, transport::session*>> sessions;  // by rank: those needed so far
  std::vector<root_window> windows;
  std::uint64_t next_counter = 1;  // of operations rooted here
  bool creating = false;           // here, and not every member has answered yet
  bool tentative = false;          // created by another node and not used yet
  bool forgotten = false;

  /// The tree for `spec` over the whole group, or so many of its members; null with the reason in `fault`.
  const any_tree* resolve(const tree_spec& spec, std::uint32_t count, tree_fault& fault);
  /// The subset that a request names: the one before if it is the same.
  result<subset_ptr> take_subset(std::span<const std::byte> bytes);
};

/// Where a member stands in a broadcast: among how many, and how far from the root.
struct tree_place {
  std::uint32_t members = 0;
  std::uint32_t relative = 0;
  std::uint32_t parent_rank = 0;
  const any_tree* tree = nullptr;
};

}  // namespace scoll::detail
