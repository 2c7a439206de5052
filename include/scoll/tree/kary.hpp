#pragma once

#include <algorithm>

#include "scoll/tree/tree.hpp"

namespace scoll {

/// A complete k-ary tree: the children of r are rk+1 ... rk+k. Ranks are numbered level by level, so a left
/// sibling is never shallower or smaller than a right one, and send order is rank order.
struct kary {
  static constexpr std::uint8_t kind = 2;
  static constexpr std::string_view name = "kary";

  /// 2 ... 65535.
  std::uint32_t radix = 2;

  constexpr tree_params params() const noexcept { return {radix, 0, 0}; }
  static constexpr std::optional<kary> from_params(const tree_params& params) noexcept {
    if (params[0] < 2 || params[0] > 65535 || params[1] != 0 || params[2] != 0) return std::nullopt;
    return kary{params[0]};
  }

  constexpr std::uint32_t parent(std::uint32_t, std::uint32_t r) const noexcept {
    return r == 0 ? 0 : (r - 1) / radix;
  }
  constexpr std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept {
    const std::uint64_t first = first_child(r);
    return first >= n ? 0 : static_cast<std::uint32_t>(std::min<std::uint64_t>(radix, n - first));
  }
  constexpr std::uint32_t child(std::uint32_t, std::uint32_t r, std::uint32_t i) const noexcept {
    return static_cast<std::uint32_t>(first_child(r) + i);
  }
  constexpr rank_run cursor(std::uint32_t n, std::uint32_t r) const noexcept {
    return {static_cast<std::uint32_t>(first_child(r)), fan_out(n, r)};
  }
  constexpr std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const {
    std::uint32_t nodes = 0;
    subtree_ranges(n, r, [&](std::uint32_t first, std::uint32_t last) { nodes += last - first; });
    return nodes;
  }
  constexpr std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept {
    std::uint32_t levels = 0;
    for (std::uint64_t low = r; low < n; low = first_child(low)) ++levels;
    return levels;
  }

  /// Calls `fn(first, last)` for each level of the subtree, top first; [first, last) are its members.
  template <class Fn>
  constexpr void subtree_ranges(std::uint32_t n, std::uint32_t r, Fn fn) const {
    std::uint64_t low = r;
    std::uint64_t high = std::uint64_t{r} + 1;
    while (low < n) {
      fn(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(std::min<std::uint64_t>(high, n)));
      low = first_child(low);
      high = first_child(high);
    }
  }

  friend constexpr bool operator==(const kary&, const kary&) = default;

 private:
  /// The result has 64 bits: the ranks asked about are below 2^32, but their children may not be.
  constexpr std::uint64_t first_child(std::uint64_t r) const noexcept { return r * radix + 1; }
};

}  // namespace scoll
