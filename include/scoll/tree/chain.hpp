#pragma once

#include "scoll/tree/tree.hpp"

namespace scoll {

/// A chain: each member has one child, the next rank. It suits bulk data, because no member sends the payload
/// twice.
struct chain {
  static constexpr std::uint8_t kind = 1;
  static constexpr std::string_view name = "chain";
  static constexpr bool contiguous_subtrees = true;

  constexpr tree_params params() const noexcept { return {}; }
  static constexpr std::optional<chain> from_params(const tree_params& params) noexcept {
    if (params != tree_params{}) return std::nullopt;
    return chain{};
  }

  constexpr std::uint32_t parent(std::uint32_t, std::uint32_t r) const noexcept { return r == 0 ? 0 : r - 1; }
  constexpr std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept {
    return n - r > 1 ? 1 : 0;
  }
  constexpr std::uint32_t child(std::uint32_t, std::uint32_t r, std::uint32_t) const noexcept {
    return r + 1;
  }
  constexpr rank_run cursor(std::uint32_t n, std::uint32_t r) const noexcept {
    return {r + 1, fan_out(n, r)};
  }
  constexpr std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept { return n - r; }
  constexpr std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept { return n - r; }

  friend constexpr bool operator==(const chain&, const chain&) = default;
};

}  // namespace scoll
