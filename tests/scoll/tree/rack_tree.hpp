#pragma once

#include <algorithm>

#include "scoll/tree/tree.hpp"

/// The user's tree of docs/trees.md: ranks are racks of `width`, the first of each rack leads it, and the
/// leaders are children of the root. A last rack of one member is a leaf and comes after the root's own rack.
struct rack_tree {
  static constexpr std::uint8_t kind = 130;
  static constexpr std::string_view name = "rack";
  std::uint32_t width = 2;

  scoll::tree_params params() const { return {width, 0, 0}; }
  static std::optional<rack_tree> from_params(const scoll::tree_params& p) {
    if (p[0] < 2 || p[1] != 0 || p[2] != 0) return std::nullopt;
    return rack_tree{p[0]};
  }
  std::uint32_t parent(std::uint32_t, std::uint32_t r) const { return r % width == 0 ? 0 : r - r % width; }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const {
    return rack_size(n, r) - 1 + (r == 0 ? (n - 1) / width : 0);
  }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    if (r != 0) return r + 1 + i;
    const std::uint32_t racks = n > 1 ? (n - 2) / width : 0;  // other racks with members besides the leader
    if (i < racks) return (i + 1) * width;
    return i - racks + 1 < std::min(width, n) ? i - racks + 1 : (racks + 1) * width;
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const { return r == 0 ? n : rack_size(n, r); }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const {
    return fan_out(n, r) == 0 ? 1 : 1 + subtree_levels(n, child(n, r, 0));
  }

 private:
  std::uint32_t rack_size(std::uint32_t n, std::uint32_t r) const {
    return r % width == 0 ? std::min(width, n - r) : 1;
  }
};
