#pragma once

#include "scoll/tree/tree.hpp"

namespace scoll {

/// A flat tree: all other members are children of the root. It has the least depth; the root sends and merges
/// n - 1 times.
struct flat {
  static constexpr std::uint8_t kind = 0;
  static constexpr std::string_view name = "flat";
  static constexpr bool contiguous_subtrees = true;

  constexpr tree_params params() const noexcept { return {}; }
  static constexpr std::optional<flat> from_params(const tree_params& params) noexcept {
    if (params != tree_params{}) return std::nullopt;
    return flat{};
  }

  constexpr std::uint32_t parent(std::uint32_t, std::uint32_t) const noexcept { return 0; }
  constexpr std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept {
    return r == 0 ? n - 1 : 0;
  }
  constexpr std::uint32_t child(std::uint32_t, std::uint32_t, std::uint32_t i) const noexcept {
    return i + 1;
  }
  constexpr rank_run cursor(std::uint32_t n, std::uint32_t r) const noexcept { return {1, fan_out(n, r)}; }
  constexpr std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept {
    return r == 0 ? n : 1;
  }
  constexpr std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept {
    return r == 0 && n > 1 ? 2 : 1;
  }

  friend constexpr bool operator==(const flat&, const flat&) = default;
};

}  // namespace scoll
