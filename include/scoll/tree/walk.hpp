#pragma once

/// Walks over the members of a subtree.

#include <algorithm>
#include <span>
#include <vector>

#include "scoll/tree/tree.hpp"

namespace scoll {

/// Calls `fn(first, last)` for ranges [first, last) of relative ranks that together are the members at and
/// below `r`, each once, `r` first. It makes one call where subtrees are contiguous (k-nomial, chain, flat,
/// greedy), and one per level for k-ary trees. A tree that declares neither is walked in preorder, one member
/// at a time; only this walk allocates.
template <spanning_tree T, class Fn>
constexpr void for_each_range_in_subtree(const T& tree, std::uint32_t n, std::uint32_t r, Fn fn) {
  if constexpr (requires { requires T::contiguous_subtrees; }) {
    fn(r, r + tree.subtree_nodes(n, r));
  } else if constexpr (requires { tree.subtree_ranges(n, r, fn); }) {
    tree.subtree_ranges(n, r, fn);
  } else {
    std::vector<std::uint32_t> pending{r};
    while (!pending.empty()) {
      const std::uint32_t member = pending.back();
      pending.pop_back();
      fn(member, member + 1);
      const auto mark = static_cast<std::ptrdiff_t>(pending.size());
      for (std::uint32_t child : children(tree, n, member)) pending.push_back(child);
      std::reverse(pending.begin() + mark, pending.end());
    }
  }
}

/// Calls `fn(member)` for every member at and below `r`, `r` first.
template <spanning_tree T, class Fn>
constexpr void for_each_in_subtree(const T& tree, std::uint32_t n, std::uint32_t r, Fn fn) {
  for_each_range_in_subtree(tree, n, r, [&](std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t member = first; member != last; ++member) fn(member);
  });
}

/// The number of entities at and below `r`: the sum of weight(member) over the subtree. O(members of the
/// subtree).
template <spanning_tree T, std::invocable<std::uint32_t> Weight>
constexpr std::uint64_t subtree_entities(const T& tree, std::uint32_t n, std::uint32_t r, Weight weight) {
  std::uint64_t sum = 0;
  for_each_in_subtree(tree, n, r, [&](std::uint32_t member) { sum += weight(member); });
  return sum;
}

/// Like `subtree_entities` above, with the entity count of each of the n members, indexed by relative rank.
template <spanning_tree T>
constexpr std::uint64_t subtree_entities(const T& tree, std::uint32_t n, std::uint32_t r,
                                         std::span<const std::uint32_t> weights) {
  return subtree_entities(tree, n, r, [&](std::uint32_t member) -> std::uint64_t { return weights[member]; });
}

}  // namespace scoll
