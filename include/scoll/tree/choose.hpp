#pragma once

/// Choosing a tree by what its links cost, and saying why.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scoll/tree/link_map.hpp"
#include "scoll/tree/predict.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll {

/// A tree that was thought of, and what it should cost, in ns.
struct tree_candidate {
  tree_spec tree;
  tree_prediction predicted;
};

/// Which tree, and why: what an administrator is shown.
struct tree_plan {
  tree_spec tree{};  ///< the one to take
  std::uint32_t members = 0;
  bool pinned = false;                         ///< an administrator has decided
  std::optional<tree_prediction> predicted{};  ///< of `tree`; nothing if nothing was measured
  std::string why{};                           ///< a sentence
  std::vector<tree_candidate> candidates{};    ///< the fastest first; empty if nothing was measured
  link_map links{};                            ///< what was measured
};

struct tree_choice_options {
  /// Taken whatever it costs, unless it is no tree for so many members (`check_tree`).
  std::optional<tree_spec> pinned{};
  /// Beside the library's own: trees that the program has registered.
  std::vector<tree_spec> also{};
};

/// Predicts flat, chain, k-ary and k-nomial trees of all radices that differ much (all up to 16, then in
/// steps of an eighth or more), and greedy ones for these costs, and takes the simplest (flat, then k-nomial,
/// k-ary, chain, greedy, those of the program) of those within 5 % of the fastest: predictions are no better
/// than that. Equal inputs give equal plans. About 0.3 us per member and candidate; from 4,097 members on
/// only powers of two are looked at.
tree_plan choose_tree(std::uint32_t members, const link_map& links, const tree_choice_options& options = {});

/// The plan of who has decided without measuring.
tree_plan pinned_plan(std::uint32_t members, const tree_spec& tree);

/// For people, several lines: the tree with its predicted cost, why, what the links cost, it and so many of
/// the candidates, the fastest first.
std::string to_text(const tree_plan& plan, std::size_t shown = 6);

}  // namespace scoll
