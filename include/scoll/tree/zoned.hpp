#pragma once

/// The tree that knows where members are: it enters each zone once.

#include <cstddef>
#include <span>
#include <vector>

#include "scoll/coro/assert.hpp"
#include "scoll/tree/tree.hpp"

namespace scoll {

/// Where a member is. Zones are racks, rooms or sites, as a program numbers them; hosts are machines within a
/// zone. 0 means unknown. The members whose zones are unknown form a zone of their own. A member whose host
/// is unknown has a host of its own.
struct member_place {
  std::uint16_t zone = 0;
  std::uint16_t host = 0;

  constexpr bool is_known() const noexcept { return zone != 0 || host != 0; }
  friend constexpr bool operator==(const member_place&, const member_place&) = default;
};

/// A zoned tree that has been built for the members of one broadcast. It is immutable and shared. The `n` of
/// its functions must be `members()`.
class zoned_table {
 public:
  /// Builds the tree from the place of each relative rank, the root's first, with a radix for the tree of
  /// zones and one for the trees within a zone (both at least 2). O(n log n), 24 bytes per member.
  zoned_table(std::span<const member_place> places, std::uint32_t across, std::uint32_t within);

  std::uint32_t members() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).parent; }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).fan_out; }
  /// Takes i + 1 steps; a cursor takes one for each child.
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept;
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).nodes; }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).levels; }
  /// How far r is from its parent: 2 in another zone, 1 on another host of the zone, else 0.
  std::uint32_t distance(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).distance; }

  /// A cursor over the children of one member; it refers to the table.
  class cursor_type {
   public:
    cursor_type(const zoned_table& table, std::uint32_t r) noexcept
        : table_(&table), place_(table.nodes_[r].place + 1), left_(table.nodes_[r].fan_out) {}
    std::optional<std::uint32_t> next() noexcept {
      if (left_ == 0) return std::nullopt;
      --left_;
      const std::uint32_t child = table_->preorder_[place_];
      place_ += table_->nodes_[child].nodes;
      return child;
    }

   private:
    const zoned_table* table_;
    std::uint32_t place_;
    std::uint32_t left_;
  };
  cursor_type cursor(std::uint32_t n, std::uint32_t r) const noexcept {
    check(n);
    return {*this, r};
  }

  template <class Fn>
  void subtree_ranges(std::uint32_t n, std::uint32_t r, Fn fn) const {
    const node& top = at(n, r);
    const auto subtree = std::span(preorder_).subspan(top.place, top.nodes);
    for (std::size_t first = 0; first < subtree.size();) {
      std::size_t last = first + 1;
      while (last < subtree.size() && subtree[last] == subtree[last - 1] + 1) ++last;
      fn(subtree[first], subtree[last - 1] + 1);
      first = last;
    }
  }

 private:
  struct node {
    std::uint32_t parent = 0;
    std::uint32_t nodes = 1;
    std::uint32_t levels : 30 = 1;
    std::uint32_t distance : 2 = 0;
    std::uint32_t fan_out = 0;
    std::uint32_t place = 0;  // the index in preorder_
  };

  void join(const std::vector<std::uint32_t>& ranks, std::uint32_t radix, std::uint32_t distance) noexcept;
  void count();
  void order_members();

  void check(std::uint32_t n) const noexcept {
    SCOLL_ASSERT(n == members(), "a zoned tree was built for another number of members");
  }
  const node& at(std::uint32_t n, std::uint32_t r) const noexcept {
    check(n);
    return nodes_[r];
  }

  std::vector<node> nodes_;
  std::vector<std::uint32_t> preorder_;  // children follow in send order, so that a subtree is a part of it
};

/// A tree of k-nomial trees. In the order of relative ranks, the first member of a zone leads the zone. The
/// leaders form a k-nomial tree of radix `across`, so that of Z zones exactly Z - 1 are entered, each once.
/// Within a zone, the first members of its hosts form a tree of radix `within`, and so do the members of each
/// host. A member sends to children in other zones first, then to those on other hosts.
///
/// The tree depends on the places of the members (`target::zone`), its root, and the members addressed.
/// Without places it is the k-nomial tree of radix `within`. It is resolved for one root and one set of
/// members (`any_tree::resolve`).
struct zoned {
  static constexpr std::uint8_t kind = 5;
  static constexpr std::string_view name = "zoned";
  /// The maximum number of members, because the table is O(n).
  static constexpr std::uint32_t max_members = 1U << 20;

  /// 2 ... 65535.
  std::uint32_t across = 2;
  /// 2 ... 65535.
  std::uint32_t within = 8;

  constexpr tree_params params() const noexcept { return {across, within, 0}; }
  static constexpr std::optional<zoned> from_params(const tree_params& params) noexcept {
    const auto is_radix = [](std::uint32_t radix) { return radix >= 2 && radix <= 65535; };
    if (!is_radix(params[0]) || !is_radix(params[1]) || params[2] != 0) return std::nullopt;
    return zoned{params[0], params[1]};
  }

  friend constexpr bool operator==(const zoned&, const zoned&) = default;
};

}  // namespace scoll
