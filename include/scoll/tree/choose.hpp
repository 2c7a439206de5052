#pragma once

/// Chooses a tree by the costs of its links, and says why.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scoll/tree/link_map.hpp"
#include "scoll/tree/predict.hpp"
#include "scoll/tree/spec.hpp"
#include "scoll/tree/zoned.hpp"

namespace scoll {

/// A tree that was considered, and its predicted cost in ns.
struct tree_candidate {
  tree_spec tree;
  tree_prediction predicted;
};

/// The tree to use and the reason for it, as shown to an administrator.
struct tree_plan {
  /// The tree to use.
  tree_spec tree{};
  std::uint32_t members = 0;
  /// True if an administrator has decided.
  bool pinned = false;
  /// The prediction for `tree`; nothing if nothing was measured.
  std::optional<tree_prediction> predicted{};
  /// The reason, in a sentence.
  std::string why{};
  /// The trees considered, the fastest first; empty if nothing was measured.
  std::vector<tree_candidate> candidates{};
  /// The measured links.
  link_map links{};
};

struct tree_choice_options {
  /// A tree that is used whatever it costs, unless it is not a tree for this number of members
  /// (`check_tree`).
  std::optional<tree_spec> pinned{};
  /// Trees that the program has registered, considered in addition to the library's own.
  std::vector<tree_spec> also{};
  /// The places of the members by relative rank, the root's first; empty: unknown. With members in two zones
  /// or more, zoned trees are considered too.
  std::vector<member_place> places{};
};

/// Predicts flat, chain, k-ary and k-nomial trees of all radices that differ much (all up to 16, then in
/// steps of an eighth or more), and greedy trees for these costs; zoned trees for radices that are powers of
/// two, if the members are in several zones. It takes the simplest tree within 5 % of the fastest, because
/// predictions are no better than that. The order from simple to complex is flat, k-nomial, k-ary, chain,
/// greedy, zoned, those of the program. Equal inputs give equal plans. It takes about 0.3 us
/// per member and candidate; from 4,097 members on it only looks at powers of two.
tree_plan choose_tree(std::uint32_t members, const link_map& links, const tree_choice_options& options = {});

/// The plan for a tree that an administrator has pinned, without measuring.
tree_plan pinned_plan(std::uint32_t members, const tree_spec& tree);

/// Describes a plan for people in several lines: the tree and its predicted cost, the reason, the costs of
/// the links, and the fastest candidates, up to `shown` of them.
std::string to_text(const tree_plan& plan, std::size_t shown = 6);

}  // namespace scoll
