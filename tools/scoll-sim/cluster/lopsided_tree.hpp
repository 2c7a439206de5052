#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "scoll/tree/user_tree.hpp"

namespace scoll::sim {

/// A tree of the program's own: a chain of members, each of which has some leaves besides. With `stride` s the
/// chain is 0, s, 2s, ...; the ranks in between are leaves of the chain's member before them.
struct lopsided_tree {
  static constexpr std::uint8_t kind = first_user_tree_kind + 7;
  static constexpr std::string_view name = "lopsided";
  static constexpr bool contiguous_subtrees = true;

  std::uint32_t stride = 2;

  constexpr tree_params params() const noexcept { return {stride, 0, 0}; }
  static constexpr std::optional<lopsided_tree> from_params(const tree_params& p) noexcept {
    return p[0] == 0 ? std::nullopt : std::optional(lopsided_tree{p[0]});
  }

  constexpr std::uint32_t parent(std::uint32_t, std::uint32_t r) const noexcept {
    if (r == 0) return 0;
    return on_chain(r) ? r - stride : r - r % stride;
  }
  constexpr std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept {
    return on_chain(r) ? leaves(n, r) + static_cast<std::uint32_t>(goes_on(n, r)) : 0;
  }
  /// The rest of the chain comes first if it is more than one member, because it is deeper.
  constexpr std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept {
    if (n - r <= stride + 1) return r + 1 + i;
    return i == 0 ? r + stride : r + i;
  }
  constexpr std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept {
    return on_chain(r) ? n - r : 1;
  }
  constexpr std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept {
    if (!on_chain(r)) return 1;
    const std::uint32_t last = (n - 1) / stride * stride;
    return (last - r) / stride + (leaves(n, last) != 0 ? 2 : 1);
  }

 private:
  constexpr bool on_chain(std::uint32_t r) const noexcept { return r % stride == 0; }
  constexpr bool goes_on(std::uint32_t n, std::uint32_t r) const noexcept { return n - r > stride; }
  constexpr std::uint32_t leaves(std::uint32_t n, std::uint32_t r) const noexcept {
    return goes_on(n, r) ? stride - 1 : n - r - 1;
  }
};
static_assert(tree_policy<lopsided_tree>);

}  // namespace scoll::sim
