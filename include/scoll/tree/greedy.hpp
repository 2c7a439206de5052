#pragma once

/// The latency-optimal tree. It has no formula, so it is built once as a table and looked up.

#include <memory>
#include <vector>

#include "scoll/coro/assert.hpp"
#include "scoll/tree/tree.hpp"

namespace scoll {

/// A greedy tree that has been built. It is immutable, and all users of the same n and parameters share it.
/// Ranks are numbered in preorder and send order, so that a subtree is [r, r + nodes). The `n` of its
/// functions must be `members()`.
class greedy_table {
 public:
  static constexpr bool contiguous_subtrees = true;

  /// Builds the tree of n members in which a member reaches a child `reach` after turning to it, and can turn
  /// to the next child after `gap` (both >= 1). Among members that are free at the same time, the one reached
  /// first goes first. O(n), 24 bytes per member.
  greedy_table(std::uint32_t n, std::uint64_t reach, std::uint64_t gap);

  std::uint32_t members() const noexcept { return static_cast<std::uint32_t>(nodes_.size()); }

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).parent; }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).fan_out; }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const noexcept {
    return children_[at(n, r).first_child + i];
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).nodes; }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const noexcept { return at(n, r).levels; }

  class cursor_type {
   public:
    cursor_type(const std::uint32_t* first, std::uint32_t count) noexcept : next_(first), left_(count) {}
    std::optional<std::uint32_t> next() noexcept {
      if (left_ == 0) return std::nullopt;
      --left_;
      return *next_++;
    }

   private:
    const std::uint32_t* next_;
    std::uint32_t left_;
  };
  cursor_type cursor(std::uint32_t n, std::uint32_t r) const noexcept {
    return {children_.data() + at(n, r).first_child, at(n, r).fan_out};
  }

 private:
  struct node {
    std::uint32_t parent = 0;
    std::uint32_t nodes = 1;
    std::uint32_t levels = 1;
    std::uint32_t fan_out = 0;
    std::uint32_t first_child = 0;  // the index in children_
  };

  const node& at(std::uint32_t n, std::uint32_t r) const noexcept {
    SCOLL_ASSERT(n == members(), "a greedy tree was built for another number of members");
    return nodes_[r];
  }

  std::vector<node> nodes_;
  std::vector<std::uint32_t> children_;
};

/// The greedy LogP tree with merge cost. All three parameters have one unit of the caller's choice (only
/// their ratio matters): `latency` is L + 2o, from turning to a child until the child has the message; `gap`
/// is max(g, o), between two sends of one member; `merge` is what merging one child's reply costs its parent.
/// The tree is built for the round trip: a child costs its parent gap + merge and answers 2 latency + merge
/// later. For the fastest one-way broadcast over links with (l, s) use {l, 2s, 0}.
///
/// The functions here find the table in a cache behind a mutex; `any_tree` keeps the table and asks it
/// directly.
struct greedy {
  static constexpr std::uint8_t kind = 4;
  static constexpr std::string_view name = "greedy";
  static constexpr bool contiguous_subtrees = true;
  /// The maximum number of members, because the table is O(n). `any_tree` refuses larger trees; the functions
  /// here require that n is not larger.
  static constexpr std::uint32_t max_members = 1U << 20;

  /// 1 ... 2^32 - 1.
  std::uint32_t latency = 1;
  /// 1 ... 2^32 - 1.
  std::uint32_t gap = 1;
  std::uint32_t merge = 0;

  constexpr tree_params params() const noexcept { return {latency, gap, merge}; }
  static constexpr std::optional<greedy> from_params(const tree_params& params) noexcept {
    if (params[0] == 0 || params[1] == 0) return std::nullopt;
    return greedy{params[0], params[1], params[2]};
  }

  /// The table for n members (n <= max_members), built now or found in the bounded cache. May be called from
  /// any thread. The table lives as long as anything holds it, even after the cache has dropped it.
  std::shared_ptr<const greedy_table> table(std::uint32_t n) const;

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const { return table(n)->parent(n, r); }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const { return table(n)->fan_out(n, r); }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    return table(n)->child(n, r, i);
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const {
    return table(n)->subtree_nodes(n, r);
  }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const {
    return table(n)->subtree_levels(n, r);
  }

  class cursor_type {
   public:
    cursor_type(std::shared_ptr<const greedy_table> table, std::uint32_t n, std::uint32_t r)
        : table_(std::move(table)), cursor_(table_->cursor(n, r)) {}
    std::optional<std::uint32_t> next() noexcept { return cursor_.next(); }

   private:
    std::shared_ptr<const greedy_table> table_;
    greedy_table::cursor_type cursor_;
  };
  cursor_type cursor(std::uint32_t n, std::uint32_t r) const { return {table(n), n, r}; }

  friend constexpr bool operator==(const greedy&, const greedy&) = default;
};

}  // namespace scoll
