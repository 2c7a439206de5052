#pragma once

#include <cstdint>

#include "process_cluster.hpp"
#include "scoll/tree/any_tree.hpp"

/// The group of eight processes of several tests, and its tree.
namespace scoll::test::eight_processes {

inline constexpr std::uint32_t n = 8;
inline const tree_spec binomial = knomial{2};  // 0 -> 4, 2, 1; 4 -> 6, 5; 2 -> 3; 6 -> 7

/// True if `member` is `top` or below it.
inline bool below(std::uint32_t member, std::uint32_t top) {
  const auto tree = any_tree::resolve(binomial, n).value();
  return member >= top && member < top + tree.subtree_nodes(n, top);
}

}  // namespace scoll::test::eight_processes
