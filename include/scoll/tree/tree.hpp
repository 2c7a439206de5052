#pragma once

/// The contract of spanning trees. Trees use *relative ranks*: the root is 0, and a member of rank r is (r -
/// root) mod n, so that one shape serves every root. Ranks have 32 bits; a tree has n >= 1 members.

#include <array>
#include <concepts>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

namespace scoll {

/// The integer parameters of a tree, as they are encoded: a radix, a latency. Unused ones are zero.
using tree_params = std::array<std::uint32_t, 3>;

/// A tree over `n` members. All functions are pure and need r < n.
/// - `parent(n, r)`: the parent; 0 for the root itself.
/// - `fan_out(n, r)`: the number of children.
/// - `child(n, r, i)`: the i-th child *in send order*, i < fan_out: deepest subtree first, then largest, then
///   lowest relative rank. Where the tree has a function `distance(n, r)`, which says how far r is from its
///   parent, the farthest children come before all others.
/// - `subtree_nodes(n, r)`: members at and below r.
/// - `subtree_levels(n, r)`: levels at and below r; a leaf has 1. Time limits are counted in these.
///
/// Two optional members make walks cheaper: `cursor(n, r)` (see `children`), and either
/// `static constexpr bool contiguous_subtrees = true` or `subtree_ranges(n, r, fn)` (see walk.hpp).
/// `tree_verifier` (verify.hpp) checks a whole tree against this contract.
template <class T>
concept spanning_tree = requires(const T& tree, std::uint32_t n, std::uint32_t r) {
  { tree.parent(n, r) } -> std::same_as<std::uint32_t>;
  { tree.fan_out(n, r) } -> std::same_as<std::uint32_t>;
  { tree.child(n, r, r) } -> std::same_as<std::uint32_t>;
  { tree.subtree_nodes(n, r) } -> std::same_as<std::uint32_t>;
  { tree.subtree_levels(n, r) } -> std::same_as<std::uint32_t>;
} && std::copyable<T>;

/// The name of a tree in a message: a small value, equal to its kind number and parameters. `from_params`
/// refuses parameters that do not make a tree; it sees bytes from the network.
template <class T>
concept named_tree = requires(const T& tree, const tree_params& params) {
  { T::kind } -> std::convertible_to<std::uint8_t>;
  { T::name } -> std::convertible_to<std::string_view>;
  { tree.params() } -> std::same_as<tree_params>;
  { T::from_params(params) } -> std::same_as<std::optional<T>>;
} && std::is_trivially_copyable_v<T>;

/// A named tree whose shape follows from its name and n. (The constraints on copying come last. Otherwise a
/// type that can be made from anything would ask about itself.)
template <class T>
concept tree_policy = named_tree<T> && spanning_tree<T>;

/// The place of `rank` in a tree rooted at `root`; both < n.
constexpr std::uint32_t to_relative(std::uint32_t rank, std::uint32_t root, std::uint32_t n) noexcept {
  return rank >= root ? rank - root : n - (root - rank);
}

/// The rank at place `relative` of a tree rooted at `root`; both < n.
constexpr std::uint32_t to_rank(std::uint32_t relative, std::uint32_t root, std::uint32_t n) noexcept {
  return relative < n - root ? root + relative : relative - (n - root);
}

/// The number of edges between the root and `r`.
template <spanning_tree T>
constexpr std::uint32_t depth_of(const T& tree, std::uint32_t n, std::uint32_t r) {
  std::uint32_t edges = 0;
  for (; r != 0; r = tree.parent(n, r)) ++edges;
  return edges;
}

/// A cursor over consecutive ranks, for trees whose children are neighbours in send order.
class rank_run {
 public:
  constexpr rank_run(std::uint32_t first, std::uint32_t count) noexcept : next_(first), left_(count) {}

  constexpr std::optional<std::uint32_t> next() noexcept {
    if (left_ == 0) return std::nullopt;
    --left_;
    return next_++;
  }

 private:
  std::uint32_t next_;
  std::uint32_t left_;
};

/// A cursor for trees that have none of their own: it asks for child 0, 1, 2 ...
template <class T>
class indexed_children {
 public:
  constexpr indexed_children(const T& tree, std::uint32_t n, std::uint32_t r)
      : tree_(tree), n_(n), r_(r), count_(tree.fan_out(n, r)) {}

  constexpr std::optional<std::uint32_t> next() {
    if (index_ == count_) return std::nullopt;
    return tree_.child(n_, r_, index_++);
  }

 private:
  T tree_;
  std::uint32_t n_;
  std::uint32_t r_;
  std::uint32_t count_;
  std::uint32_t index_ = 0;
};

/// The children of `r` in send order, O(1) each and without allocation:
/// `for (std::uint32_t child : scoll::children(tree, n, r))`, or call `next()` until it is empty. It makes
/// one pass. It may refer to the tree, which must outlive it.
template <spanning_tree T>
class children {
  static constexpr auto make(const T& tree, std::uint32_t n, std::uint32_t r) {
    if constexpr (requires { tree.cursor(n, r); }) {
      return tree.cursor(n, r);
    } else {
      return indexed_children<T>(tree, n, r);
    }
  }
  using cursor_type = decltype(make(std::declval<const T&>(), 0, 0));

 public:
  constexpr children(const T& tree, std::uint32_t n, std::uint32_t r) : cursor_(make(tree, n, r)) {}

  /// Returns the next child, or nothing after the last.
  constexpr std::optional<std::uint32_t> next() { return cursor_.next(); }

  class iterator {
   public:
    constexpr explicit iterator(children& from) : from_(&from), current_(from.next()) {}
    constexpr std::uint32_t operator*() const { return *current_; }
    constexpr iterator& operator++() {
      current_ = from_->next();
      return *this;
    }
    constexpr bool operator==(std::default_sentinel_t) const noexcept { return !current_; }

   private:
    children* from_;
    std::optional<std::uint32_t> current_;
  };

  constexpr iterator begin() { return iterator(*this); }
  constexpr std::default_sentinel_t end() const noexcept { return {}; }

 private:
  cursor_type cursor_;
};

}  // namespace scoll
