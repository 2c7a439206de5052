#pragma once

/// Checks a tree against the contract of `spanning_tree`, for tests of new trees.

#include <algorithm>
#include <optional>
#include <vector>

#include "scoll/tree/tree.hpp"

namespace scoll {

/// A violation of the contract, and the relative rank at which it was found.
struct tree_defect {
  const char* what;
  std::uint32_t rank;
};

/// Checks trees and keeps its memory between checks. A check makes O(n) calls of the tree's functions.
class tree_verifier {
 public:
  /// Returns the first defect of the tree of n members, or nothing if there is none. A tree without defects
  /// reaches every member once, from the parent that the member names; its sizes and levels are what a count
  /// gives; its children come in send order; and its `child` and cursor agree.
  template <spanning_tree T>
  std::optional<tree_defect> check(const T& tree, std::uint32_t n) {
    members_.assign(n, member{});
    order_.assign(1, 0);
    members_[0].seen = true;
    for (std::size_t at = 0; at < order_.size(); ++at) {
      if (auto defect = check_member(tree, n, order_[at])) return defect;
    }
    if (order_.size() != n) return tree_defect{"not every member is reached", first_unseen()};
    return check_counts();
  }

 private:
  struct member {
    std::uint32_t parent = 0;
    std::uint32_t claimed_nodes = 0;
    std::uint32_t claimed_levels = 0;
    std::uint32_t nodes = 1;
    std::uint32_t levels = 1;
    std::uint32_t distance = 0;
    bool seen = false;
  };

  template <class T>
  std::optional<tree_defect> check_member(const T& tree, std::uint32_t n, std::uint32_t r) {
    if (tree.parent(n, r) != members_[r].parent) return tree_defect{"it names another parent", r};
    members_[r].claimed_nodes = tree.subtree_nodes(n, r);
    members_[r].claimed_levels = tree.subtree_levels(n, r);
    if constexpr (requires { tree.distance(n, r); }) members_[r].distance = tree.distance(n, r);
    const std::uint32_t fan_out = tree.fan_out(n, r);
    std::uint32_t index = 0;
    for (std::uint32_t child : children(tree, n, r)) {
      if (index == fan_out) return tree_defect{"it has more children than its fan-out", r};
      if (tree.child(n, r, index++) != child) return tree_defect{"child() and the cursor disagree", r};
      if (child >= n) return tree_defect{"a child is out of range", r};
      if (members_[child].seen) return tree_defect{"it is reached twice", child};
      members_[child].seen = true;
      members_[child].parent = r;
      order_.push_back(child);
    }
    if (index != fan_out) return tree_defect{"it has fewer children than its fan-out", r};
    return std::nullopt;
  }

  std::optional<tree_defect> check_counts() {
    for (std::size_t at = order_.size(); at-- > 1;) {
      const member& from = members_[order_[at]];
      member& into = members_[from.parent];
      into.nodes += from.nodes;
      into.levels = std::max(into.levels, from.levels + 1);
    }
    for (std::size_t at = 0; at < order_.size(); ++at) {
      const std::uint32_t r = order_[at];
      if (members_[r].nodes != members_[r].claimed_nodes) return tree_defect{"subtree_nodes is wrong", r};
      if (members_[r].levels != members_[r].claimed_levels) return tree_defect{"subtree_levels is wrong", r};
      if (at > 1 && members_[order_[at - 1]].parent == members_[r].parent && !in_order(order_[at - 1], r)) {
        return tree_defect{"it comes too late in send order", r};
      }
    }
    return std::nullopt;
  }

  bool in_order(std::uint32_t left, std::uint32_t right) const {
    const member& a = members_[left];
    const member& b = members_[right];
    if (a.distance != b.distance) return a.distance > b.distance;
    if (a.levels != b.levels) return a.levels > b.levels;
    if (a.nodes != b.nodes) return a.nodes > b.nodes;
    return left < right;
  }

  std::uint32_t first_unseen() const {
    std::uint32_t r = 0;
    while (members_[r].seen) ++r;
    return r;
  }

  std::vector<member> members_;
  std::vector<std::uint32_t> order_;
};

}  // namespace scoll
