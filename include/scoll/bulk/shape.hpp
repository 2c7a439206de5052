#pragma once

/// The shapes of plans for bulk data: what the time for a broadcast depends on.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "scoll/bulk/plan.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/knomial.hpp"
#include "scoll/tree/tree.hpp"

namespace scoll {

/// The way of a piece from the root to one member.
struct bulk_way {
  std::uint32_t hops = 0;
  /// The sends that a piece takes, its own among them, if each member sends to one child after the other.
  std::uint32_t sends = 0;
  /// The same, if each piece takes as long as those to all children.
  std::uint32_t all_sends = 0;

  /// True if this way takes no less time than another one, whatever hops and sends cost.
  constexpr bool covers(const bulk_way& other) const noexcept {
    return hops >= other.hops && sends >= other.sends && all_sends >= other.all_sends;
  }
  friend bool operator==(const bulk_way&, const bulk_way&) = default;
};

/// The ways that may take longest. Where there are too many to keep, two of them become one that covers both.
class bulk_ways {
 public:
  static constexpr std::size_t most = 8;

  constexpr bulk_ways() = default;
  constexpr explicit bulk_ways(const bulk_way& only) noexcept { add(only); }

  constexpr void add(const bulk_way& way) noexcept {
    for (const bulk_way& kept : *this) {
      if (kept.covers(way)) return;
    }
    count_ = static_cast<std::size_t>(std::remove_if(ways_.begin(), ways_.begin() + count_,
                                                     [&](const bulk_way& w) { return way.covers(w); }) -
                                      ways_.begin());
    if (count_ < most) {
      ways_[count_++] = way;
      return;
    }
    bulk_way& last = ways_[most - 1];
    last = {std::max(last.hops, way.hops), std::max(last.sends, way.sends),
            std::max(last.all_sends, way.all_sends)};
  }

  constexpr const bulk_way* begin() const noexcept { return ways_.data(); }
  constexpr const bulk_way* end() const noexcept { return ways_.data() + count_; }

  friend constexpr bool operator==(const bulk_ways& a, const bulk_ways& b) noexcept {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  std::array<bulk_way, most> ways_{};
  std::size_t count_ = 0;
};

/// The shape of a plan: what the time for a broadcast depends on. Links carry one piece at a time out of each
/// member, and a piece that waits for others to leave is a *send* later.
struct bulk_shape {
  /// The hops to the last member.
  std::uint32_t hops = 0;
  /// The most members that one member sends a piece to.
  std::uint32_t fan_out = 0;
  bulk_ways ways{};
  /// In a k-ary tree, the root's children before the last one that has k children itself.
  std::uint32_t before_relay = 0;

  friend bool operator==(const bulk_shape&, const bulk_shape&) = default;
};

namespace detail {

/// Finds the ways in a tree that may take longest: all of them in trees of up to `most_walked` members, and
/// in larger ones those that go always to the child with the largest subtree, to the last one with the
/// deepest subtree, or to the last one.
template <class T>
class way_finder {
 public:
  static constexpr std::uint32_t most_walked = 1024;

  constexpr way_finder(const T& tree, std::uint32_t n) : tree_(tree), n_(n) {
    if (n <= most_walked) {
      walk(0, {});
      return;
    }
    follow([](std::uint32_t, std::uint32_t) { return 0U; });
    follow([this](std::uint32_t r, std::uint32_t) {
      return last_with(r, tree_.subtree_levels(n_, tree_.child(n_, r, 0)));
    });
    follow([](std::uint32_t, std::uint32_t children) { return children - 1; });
  }

  constexpr const bulk_ways& ways() const noexcept { return ways_; }

 private:
  constexpr void walk(std::uint32_t r, const bulk_way& to) {
    const std::uint32_t fan_out = tree_.fan_out(n_, r);
    if (fan_out == 0) return ways_.add(to);
    std::uint32_t sends = to.sends;
    for (const std::uint32_t child : children(tree_, n_, r))
      walk(child, {to.hops + 1, ++sends, to.all_sends + fan_out});
  }

  template <class Next>
  constexpr void follow(const Next& next) {
    bulk_way to;
    for (std::uint32_t r = 0, count = tree_.fan_out(n_, r); count != 0; count = tree_.fan_out(n_, r)) {
      const std::uint32_t child = next(r, count);
      to = {to.hops + 1, to.sends + child + 1, to.all_sends + count};
      r = tree_.child(n_, r, child);
    }
    ways_.add(to);
  }

  /// Finds the last child of r whose subtree has so many levels; the first one has them. Children come in the
  /// order of their levels.
  constexpr std::uint32_t last_with(std::uint32_t r, std::uint32_t levels) const {
    std::uint32_t low = 0;
    for (std::uint32_t high = tree_.fan_out(n_, r) - 1; low != high;) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (tree_.subtree_levels(n_, tree_.child(n_, r, middle)) >= levels) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  const T& tree_;
  std::uint32_t n_;
  bulk_ways ways_;
};

}  // namespace detail

/// The shape of a tree whose root has the most children, as in all trees of the library. It looks at each
/// member of up to 1,024; in larger trees it takes O(levels * log fan-out), and counts at most 1,024 levels
/// one by one.
template <spanning_tree T>
constexpr bulk_shape shape_of(const T& tree, std::uint32_t n) {
  constexpr std::uint32_t most_levels = 1024;
  bulk_shape shape{.hops = tree.subtree_levels(n, 0) - 1, .fan_out = tree.fan_out(n, 0)};
  if (shape.hops >= most_levels) {
    const std::uint32_t sends = shape.hops > n / shape.fan_out ? n : shape.hops * shape.fan_out;
    shape.ways.add({shape.hops, sends, sends});
    return shape;
  }
  shape.ways = detail::way_finder<T>(tree, n).ways();
  return shape;
}

/// The members that a broadcast is for.
struct bulk_members {
  /// The number of members, the root among them; at least 1.
  std::uint32_t count = 1;
  /// The number of members on the host that has the most of them; 1 to `count`.
  std::uint32_t on_one_host = 1;
  /// The shape of the request's tree (`shape_of`).
  bulk_shape control{.hops = 1, .fan_out = 1, .ways = bulk_ways({1, 1, 1})};
};

/// The shape of `plan` among these members.
constexpr bulk_shape shape_of(const bulk_plan& plan, const bulk_members& members) {
  const std::uint32_t n = members.count;
  const auto along_one_path = [](std::uint32_t hops) {
    return bulk_shape{.hops = hops, .fan_out = 1, .ways = bulk_ways({hops, hops, hops})};
  };
  switch (plan.kind()) {
    case bulk_plan_kind::chain: return along_one_path(n - 1);
    case bulk_plan_kind::kary: {
      const std::uint32_t k = plan.radix(), full = std::min(k, (n - 1) / k - std::min(1U, (n - 1) / k));
      bulk_shape shape = shape_of(kary{k}, n);
      shape.before_relay = full - std::min(1U, full);
      return shape;
    }
    case bulk_plan_kind::knomial: return shape_of(knomial{plan.radix()}, n);
    case bulk_plan_kind::circulant: return along_one_path(static_cast<std::uint32_t>(std::bit_width(n - 1)));
    default: return members.control;
  }
}

}  // namespace scoll
