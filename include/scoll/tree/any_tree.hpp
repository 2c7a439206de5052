#pragma once

/// A tree chosen at run time, as a group holds it.

#include <memory>
#include <span>
#include <type_traits>
#include <variant>

#include "scoll/tree/chain.hpp"
#include "scoll/tree/flat.hpp"
#include "scoll/tree/greedy.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/knomial.hpp"
#include "scoll/tree/spec.hpp"
#include "scoll/tree/user_tree.hpp"
#include "scoll/tree/walk.hpp"
#include "scoll/tree/zoned.hpp"

namespace scoll {

/// Any tree, with the functions of `spanning_tree`. It is a value: copies share the table of a greedy or a
/// zoned tree. Its functions may be called from any thread and do not allocate. A greedy or a zoned tree
/// answers only for the n it was resolved for; other trees answer for any n.
class any_tree {
 public:
  /// A cursor over the children; it refers to the tree.
  class cursor_type;

  /// The default tree (`tree_spec{}`).
  any_tree() = default;

  /// Makes the tree that `spec` names, for n members, with its table if it needs one. A zoned tree follows
  /// the places of the n members by relative rank, the root's first; without places it takes all for unknown.
  /// Other trees do not look at them. Returns nothing if `check_tree(spec, n)` reports a fault.
  static std::optional<any_tree> resolve(const tree_spec& spec, std::uint32_t n,
                                         std::span<const member_place> places = {});

  const tree_spec& spec() const noexcept { return spec_; }
  /// True if it shares a table with its copies.
  bool has_table() const noexcept { return table_ != nullptr; }

  std::uint32_t parent(std::uint32_t n, std::uint32_t r) const {
    return dispatch([&](const auto& tree) { return tree.parent(n, r); });
  }
  std::uint32_t fan_out(std::uint32_t n, std::uint32_t r) const {
    return dispatch([&](const auto& tree) { return tree.fan_out(n, r); });
  }
  std::uint32_t child(std::uint32_t n, std::uint32_t r, std::uint32_t i) const {
    return dispatch([&](const auto& tree) { return tree.child(n, r, i); });
  }
  std::uint32_t subtree_nodes(std::uint32_t n, std::uint32_t r) const {
    return dispatch([&](const auto& tree) { return tree.subtree_nodes(n, r); });
  }
  std::uint32_t subtree_levels(std::uint32_t n, std::uint32_t r) const {
    return dispatch([&](const auto& tree) { return tree.subtree_levels(n, r); });
  }
  /// How far r is from its parent, as a zoned tree says; 0 in other trees.
  std::uint32_t distance(std::uint32_t n, std::uint32_t r) const {
    return dispatch([&](const auto& tree) -> std::uint32_t {
      if constexpr (requires { tree.distance(n, r); }) return tree.distance(n, r);
      return 0;
    });
  }
  cursor_type cursor(std::uint32_t n, std::uint32_t r) const;

  template <class Fn>
  void subtree_ranges(std::uint32_t n, std::uint32_t r, Fn fn) const {
    dispatch([&](const auto& tree) { for_each_range_in_subtree(tree, n, r, fn); });
  }

 private:
  template <class Fn>
  std::invoke_result_t<const Fn&, const flat&> dispatch(const Fn& fn) const {
    switch (spec_.kind) {
      case flat::kind: return fn(flat{});
      case chain::kind: return fn(chain{});
      case kary::kind: return fn(kary{spec_.params[0]});
      case knomial::kind: return fn(knomial{spec_.params[0]});
      case greedy::kind: return fn(*static_cast<const greedy_table*>(table_.get()));
      case zoned::kind: return fn(*static_cast<const zoned_table*>(table_.get()));
      default: return fn(user_);
    }
  }

  tree_spec spec_;
  std::shared_ptr<const void> table_;  // of a greedy or a zoned tree
  user_tree user_;
};

class any_tree::cursor_type {
 public:
  template <class Cursor>
  explicit cursor_type(const Cursor& from) noexcept : from_(from) {}

  std::optional<std::uint32_t> next() {
    switch (from_.index()) {
      case 0: return std::get_if<0>(&from_)->next();
      case 1: return std::get_if<1>(&from_)->next();
      case 2: return std::get_if<2>(&from_)->next();
      case 3: return std::get_if<3>(&from_)->next();
      default: return std::get_if<4>(&from_)->next();
    }
  }

 private:
  std::variant<rank_run, knomial::cursor_type, greedy_table::cursor_type, zoned_table::cursor_type,
               indexed_children<user_tree>>
      from_;
};

inline any_tree::cursor_type any_tree::cursor(std::uint32_t n, std::uint32_t r) const {
  return dispatch([&](const auto& tree) {
    if constexpr (requires { tree.cursor(n, r); }) {
      return cursor_type(tree.cursor(n, r));
    } else {
      return cursor_type(indexed_children(tree, n, r));
    }
  });
}

}  // namespace scoll
