#pragma once

#include <algorithm>

#include "scoll/tree/tree.hpp"

namespace scoll {

/// A k-nomial tree; radix 2 gives the binomial tree. In base k, the parent of r is r with its lowest non-zero
/// digit cleared. The subtree of r consists of the ranks [r, r + nodes).
struct knomial {
  static constexpr std::uint8_t kind = 3;
  static constexpr std::string_view name = "knomial";
  static constexpr bool contiguous_subtrees = true;
  class cursor_type;

  /// 2 ... 65535.
  std::uint32_t radix = 2;

  constexpr tree_params params() const noexcept { return {radix, 0, 0}; }
  static constexpr std::optional<knomial> from_params(const tree_params& params) noexcept {
    if (params[0] < 2 || params[0] > 65535 || params[1] != 0 || params[2] != 0) return std::nullopt;
    return knomial{params[0]};
  }

  constexpr std::uint32_t parent(std::uint32_t n, std::uint32_t r) const noexcept {
    return r == 0 ? 0 : r - static_cast<std::uint32_t>(r % (width(n, r) * radix));
  }
  constexpr std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept;
  constexpr std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept;
  constexpr cursor_type cursor(std::uint32_t n, std::uint32_t r) const noexcept;
  constexpr std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(width(n, r), n - r));
  }
  constexpr std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept {
    return 1 + height(subtree_nodes(n, r));
  }

  friend constexpr bool operator==(const knomial&, const knomial&) = default;

 private:
  /// The children of r, in groups of k-1 equal, complete subtrees of k^e members, with e falling from
  /// `exponent` to 0. Only the last child of the first group can be cut short by n; it is then sent to later,
  /// at the place that its depth and size give it.
  struct layout {
    std::uint64_t step = 0;      // k^exponent: the distance between children of the first group
    std::uint32_t exponent = 0;  // the exponent of the first group
    std::uint32_t complete = 0;  // the children of the first group with complete subtrees
    std::uint32_t fan_out = 0;
    std::uint32_t cut_index = ~0U;  // the place of the incomplete child in send order, if there is one
    std::uint32_t cut_rank = 0;
  };

  /// The number of members that the subtree of r would have if n did not cut it off: k to the power of the
  /// number of zero digits at the end of r.
  constexpr std::uint64_t width(std::uint32_t n, std::uint32_t r) const noexcept {
    std::uint64_t result = 1;
    if (r == 0) {
      while (result < n) result *= radix;
    } else {
      for (std::uint32_t digits = r; digits % radix == 0; digits /= radix) result *= radix;
    }
    return result;
  }

  /// The number of edges below the top of a subtree of `nodes` members: the most non-zero digits of any
  /// number below `nodes`. The least number with d of them is 11...1 = (k^d - 1)/(k - 1).
  constexpr std::uint32_t height(std::uint64_t nodes) const noexcept {
    std::uint32_t edges = 0;
    for (std::uint64_t least = 1; least < nodes; least = least * radix + 1) ++edges;
    return edges;
  }

  constexpr std::uint64_t power(std::uint32_t exponent) const noexcept {
    std::uint64_t result = 1;
    while (exponent-- > 0) result *= radix;
    return result;
  }

  constexpr layout lay_out(std::uint32_t n, std::uint32_t r) const noexcept;
};

constexpr knomial::layout knomial::lay_out(std::uint32_t n, std::uint32_t r) const noexcept {
  layout at;
  const std::uint64_t nodes = subtree_nodes(n, r);
  if (nodes == 1) return at;
  for (at.step = 1; at.step * radix < nodes; at.step *= radix) ++at.exponent;
  // nodes <= k * step, so the first group never has more than k - 1 members.
  const auto first_group = static_cast<std::uint32_t>((nodes - 1) / at.step);
  const std::uint64_t last_nodes = nodes - first_group * at.step;
  at.fan_out = first_group + at.exponent * (radix - 1);
  at.complete = first_group;
  if (last_nodes >= at.step) return at;

  --at.complete;
  at.cut_rank = static_cast<std::uint32_t>(r + first_group * at.step);
  at.cut_index = at.complete;
  const std::uint32_t levels = height(last_nodes);
  if (levels < at.exponent) {
    // Deeper groups go first, then the group of equal depth unless it is smaller; on a tie the lower rank
    // goes first.
    const std::uint32_t equal_depth = power(levels) >= last_nodes ? 1 : 0;
    at.cut_index += (at.exponent - 1 - levels + equal_depth) * (radix - 1);
  }
  return at;
}

constexpr std::uint32_t knomial::fan_out(std::uint32_t n, std::uint32_t r) const noexcept {
  return lay_out(n, r).fan_out;
}

constexpr std::uint32_t knomial::child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept {
  const layout at = lay_out(n, r);
  if (i == at.cut_index) return at.cut_rank;
  if (i > at.cut_index) --i;
  if (i < at.complete) return static_cast<std::uint32_t>(r + (i + 1) * at.step);
  i -= at.complete;
  const std::uint64_t step = power(at.exponent - 1 - i / (radix - 1));
  return static_cast<std::uint32_t>(r + (i % (radix - 1) + 1) * step);
}

/// Walks the groups of a k-nomial member's children; see `children`.
class knomial::cursor_type {
 public:
  constexpr cursor_type(const layout& at, std::uint32_t radix, std::uint32_t r) noexcept
      : at_(at), radix_(radix), rank_(r), in_group_(at.complete) {}

  constexpr std::optional<std::uint32_t> next() noexcept {
    if (index_ == at_.fan_out) return std::nullopt;
    if (index_++ == at_.cut_index) return at_.cut_rank;
    if (taken_ == in_group_) {
      at_.step /= radix_;
      in_group_ = radix_ - 1;
      taken_ = 0;
    }
    return static_cast<std::uint32_t>(rank_ + ++taken_ * at_.step);
  }

 private:
  layout at_;
  std::uint32_t radix_;
  std::uint32_t rank_;
  std::uint32_t in_group_;
  std::uint32_t taken_ = 0;
  std::uint32_t index_ = 0;
};

constexpr knomial::cursor_type knomial::cursor(std::uint32_t n, std::uint32_t r) const noexcept {
  return {lay_out(n, r), radix, r};
}

}  // namespace scoll
