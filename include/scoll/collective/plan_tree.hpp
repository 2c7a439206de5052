#pragma once

#include <vector>

#include "scoll/collective/measure_links.hpp"
#include "scoll/tree/choose.hpp"

namespace scoll {

struct plan_options {
  /// How links are measured. The places are those of the targets, whatever it says.
  measure_options measure{};
  /// Trees of the program's own that may be chosen as well.
  std::vector<tree_spec> also{};
  /// Measures even if an administrator has pinned a tree, to tell what that tree costs.
  bool measure_pinned = false;
};

/// Measures the links to all targets and chooses a tree for broadcasts rooted here:
///
/// ```cpp
/// auto plan = co_await scoll::plan_tree(node, targets);
/// scoll::group_options how;  // of create_group
/// if (plan) how.tree = plan->tree;  // to_text(*plan) says why
/// ```
///
/// If targets are in several zones (`target::zone`), it considers zoned trees too. If an administrator has
/// pinned a tree (`node_options::pinned_tree`), that tree is the plan. Errors: those
/// of `measure_links`; `not_member` (this node is not a target).
task<result<tree_plan>> plan_tree(node& self, std::vector<target> targets, plan_options options = {});

}  // namespace scoll
