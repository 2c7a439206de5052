#pragma once

/// Predicts how long a plan for bulk data takes, and chooses a plan and the size of pieces. Everything is
/// computed in integers, so that equal inputs give equal results everywhere.

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "scoll/bulk/costs.hpp"
#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/knomial.hpp"

namespace scoll {

/// The shape of a plan: what the time for a broadcast depends on. Links carry one piece at a time out of each
/// member, and a piece that waits for others to leave is a *send* later.
struct bulk_shape {
  /// The hops to the last member.
  std::uint32_t hops = 0;
  /// The most members that one member sends a piece to.
  std::uint32_t fan_out = 0;
  /// The most sends that one piece takes on its way to a member, its own among them, if each member sends to
  /// one child after the other.
  std::uint32_t sends = 0;
  /// The same, if each piece takes as long as those to all children.
  std::uint32_t all_sends = 0;
  /// The root's children before the last one that has children itself.
  std::uint32_t before_relay = 0;

  friend bool operator==(const bulk_shape&, const bulk_shape&) = default;
};

/// The shape of a tree whose root has the most children, as in all trees of the library. It looks at the
/// paths that may take longest: always to the child with the largest subtree, to the last one with the
/// deepest subtree, and to the last one. It takes O(levels * log fan-out), and counts at most 1,024 levels
/// one by one.
template <spanning_tree T>
constexpr bulk_shape shape_of(const T& tree, std::uint32_t n) {
  constexpr std::uint32_t most_levels = 1024;
  bulk_shape shape{.hops = tree.subtree_levels(n, 0) - 1, .fan_out = tree.fan_out(n, 0)};
  if (shape.hops > most_levels) {
    shape.sends = shape.all_sends = shape.hops > n / shape.fan_out ? n : shape.hops * shape.fan_out;
    return shape;
  }
  // Finds the last child of r whose subtree has so many levels; the first one has them. Children come in the
  // order of their levels.
  const auto last_with = [&](std::uint32_t r, std::uint32_t levels) {
    std::uint32_t low = 0;
    for (std::uint32_t high = tree.fan_out(n, r) - 1; low != high;) {
      const std::uint32_t middle = low + (high - low + 1) / 2;
      if (tree.subtree_levels(n, tree.child(n, r, middle)) >= levels) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  };
  const auto walk = [&](const auto& next) {
    std::uint32_t sends = 0, all = 0;
    for (std::uint32_t r = 0, children = shape.fan_out; children != 0; children = tree.fan_out(n, r)) {
      const std::uint32_t child = next(r, children);
      sends += child + 1;
      all += children;
      r = tree.child(n, r, child);
    }
    shape.sends = std::max(shape.sends, sends);
    shape.all_sends = std::max(shape.all_sends, all);
  };
  walk([](std::uint32_t, std::uint32_t) { return 0U; });
  walk([&](std::uint32_t r, std::uint32_t) {
    return last_with(r, tree.subtree_levels(n, tree.child(n, r, 0)));
  });
  walk([](std::uint32_t, std::uint32_t children) { return children - 1; });
  if (shape.hops > 1) shape.before_relay = last_with(0, 2);
  return shape;
}

/// The members that a broadcast is for.
struct bulk_members {
  /// The number of members, the root among them; at least 1.
  std::uint32_t count = 1;
  /// The number of members on the host that has the most of them; 1 to `count`.
  std::uint32_t on_one_host = 1;
  /// The shape of the request's tree (`shape_of`).
  bulk_shape control{.hops = 1, .fan_out = 1, .sends = 1, .all_sends = 1};
};

/// The shape of `plan` among these members.
constexpr bulk_shape shape_of(const bulk_plan& plan, const bulk_members& members) {
  const std::uint32_t n = members.count;
  const auto along_one_path = [](std::uint32_t hops) {
    return bulk_shape{.hops = hops, .fan_out = 1, .sends = hops, .all_sends = hops};
  };
  switch (plan.kind()) {
    case bulk_plan_kind::chain: return along_one_path(n - 1);
    case bulk_plan_kind::kary: return shape_of(kary{plan.radix()}, n);
    case bulk_plan_kind::knomial: return shape_of(knomial{plan.radix()}, n);
    case bulk_plan_kind::circulant: return along_one_path(static_cast<std::uint32_t>(std::bit_width(n - 1)));
    default: return members.control;
  }
}

namespace detail {

/// A number that stays at the greatest one instead of starting again from 0.
class saturating {
 public:
  constexpr saturating(std::uint64_t value) noexcept : value_(value) {}
  constexpr std::uint64_t value() const noexcept { return value_; }

  friend constexpr saturating operator+(saturating a, saturating b) noexcept {
    std::uint64_t result = 0;
    return __builtin_add_overflow(a.value_, b.value_, &result) ? most : result;
  }
  friend constexpr saturating operator*(saturating a, saturating b) noexcept {
    std::uint64_t result = 0;
    return __builtin_mul_overflow(a.value_, b.value_, &result) ? most : result;
  }

 private:
  static constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t value_;
};

/// The pieces that a member hands to the link of one consumer before it goes on to the next one: as many as a
/// link holds, and no more than are ordered at a time.
constexpr std::uint32_t pieces_at_once(std::uint32_t piece_bytes) noexcept {
  constexpr std::uint32_t link_bytes = 256U << 10U, orders = 7;
  return std::clamp(link_bytes / piece_bytes, 1U, orders);
}

/// The time of a plan in ps, hosts left aside.
constexpr saturating predict_plan_ps(const bulk_plan& plan, const bulk_shape& shape,
                                     const bulk_pieces& pieces, const bulk_costs& costs) {
  const std::uint64_t count = pieces.count();
  const std::uint64_t bytes = (pieces.length() + count - 1) / count;
  const saturating hop = saturating(costs.hop_ns) * 1000;
  const saturating link = saturating(bytes) * costs.link_ps;
  const saturating landing = saturating(costs.piece_ns) * 1000 + saturating(bytes) * costs.hash_ps;
  const saturating before = hop * 2;  // the request, and the first order
  const std::uint64_t at_once = pieces_at_once(pieces.piece_bytes());
  if (plan.kind() == bulk_plan_kind::whole) {
    const std::uint64_t last = (count - 1) % at_once + 1;
    return before + (hop + landing * count) * shape.hops + link * (count - last) * shape.all_sends +
           link * last * shape.sends;
  }
  const saturating others = (landing + link * shape.fan_out) * (count - 1);
  const saturating all = before + (hop + landing) * shape.hops + others;
  switch (plan.kind()) {
    case bulk_plan_kind::kary:
      return all + link * (shape.sends + (std::min(count, at_once) - 1) * shape.before_relay);
    case bulk_plan_kind::knomial: return all + link * shape.all_sends;
    case bulk_plan_kind::circulant: {
      if (shape.hops <= 1) return all + link;
      const std::uint64_t hops = shape.hops, square = count * count;
      return all + link * (hops + (16 * hops * hops * (square - 1) / square + 5 * count) / 40);
    }
    default: return all + link * shape.sends;
  }
}

}  // namespace detail

/// Predicts the time in ns from the start of the broadcast until the last member has verified the last piece.
/// At each hop a piece takes `hop_ns`, `piece_ns`, its bytes on the link and their hash; before the first one
/// come the request and an order, `hop_ns` each. Out of a member pieces go one after the other, so that each
/// also waits for those to other consumers. Plans that work piece by piece take one such time for each hop,
/// and one for each further piece, in which a member sends to all of its consumers.
///
/// Members answer orders in the order in which these come. What that costs was measured in the simulator
/// (docs/scale.md). A k-ary tree's last subtrees begin later, because the root's first children get up to 256
/// KiB each at first. A k-nomial tree's deepest subtree may be served last. The circulant plan with q hops
/// and b pieces takes about 2/5 q^2 + b/8 rounds more, fewer if b is 1 or 2.
///
/// No plan is faster than the busiest host, which receives the whole object for each of its members but the
/// root. Where all members share a host, that is what counts, and no plan is much better than another. Times
/// beyond 213 days are all the same.
constexpr std::uint64_t predict_bulk(const bulk_plan& plan, const bulk_members& members,
                                     const bulk_pieces& pieces, const bulk_costs& costs) {
  if (members.count == 1 || pieces.count() == 0) return 0;
  const std::uint64_t plan_ps = detail::predict_plan_ps(plan, shape_of(plan, members), pieces, costs).value();
  const std::uint32_t receivers = std::min(members.on_one_host, members.count - 1);
  const detail::saturating host_ps = detail::saturating(receivers) * pieces.length() * costs.host_ps;
  const std::uint64_t time_ps = std::max(plan_ps, host_ps.value());
  return time_ps / 1000 + (time_ps % 1000 != 0 ? 1 : 0);
}

/// A plan, the size of its pieces, and the time in ns that it is predicted to take.
struct bulk_choice {
  bulk_plan plan{};
  std::uint32_t piece_bytes = least_bulk_piece_bytes;
  std::uint64_t predicted_ns = 0;

  friend bool operator==(const bulk_choice&, const bulk_choice&) = default;
};

/// Options of `choose_bulk`.
struct bulk_choice_options {
  /// A plan that is used whatever it costs, so that only the size of pieces is chosen. It must be a plan
  /// (`check_bulk_plan`).
  std::optional<bulk_plan> pinned{};
  /// True if members keep no more than a few pieces at a time, which takes a plan that `can_pass`.
  bool passing = false;
};

namespace detail {

/// The plans worth predicting, from simple to complex. With the default costs, and from 128 KiB on, no k-ary
/// or k-nomial tree of another radix is more than 10 % faster than the best of these; for smaller objects it
/// can be.
inline constexpr std::array candidate_plans{
    bulk_plan::whole(), bulk_plan::chain(), bulk_plan::binary(), bulk_plan::kary(3),  bulk_plan::kary(4),
    bulk_plan::kary(5), bulk_plan::kary(6), bulk_plan::kary(8),  bulk_plan::kary(16), bulk_plan::circulant()};

/// All plans with all sizes of pieces that come into question for an object, from simple to complex. The
/// greater of two sizes counts as the simpler one. A size is left out if half of it holds the object as well.
class bulk_candidates {
 public:
  constexpr bulk_candidates(const bulk_members& members, std::uint64_t length, const bulk_costs& costs,
                            const bulk_choice_options& options) {
    for (const bulk_plan& plan : candidate_plans) {
      if (options.pinned || (options.passing && !plan.can_pass())) continue;
      add_sizes(plan, members, length, costs);
    }
    if (options.pinned) add_sizes(*options.pinned, members, length, costs);
  }

  constexpr const bulk_choice* begin() const noexcept { return all_.data(); }
  constexpr const bulk_choice* end() const noexcept { return all_.data() + count_; }

 private:
  static constexpr std::size_t sizes = 5;  // 64 KiB to 1 MiB

  constexpr void add_sizes(const bulk_plan& plan, const bulk_members& members, std::uint64_t length,
                           const bulk_costs& costs) {
    for (std::uint32_t size = most_bulk_piece_bytes; size >= least_bulk_piece_bytes; size /= 2) {
      const auto pieces = bulk_pieces::divide(length, size);
      if (!pieces || (length <= size / 2 && size != least_bulk_piece_bytes)) continue;
      all_[count_++] = {plan, size, predict_bulk(plan, members, *pieces, costs)};
    }
  }

  std::array<bulk_choice, candidate_plans.size() * sizes> all_{};
  std::size_t count_ = 0;
};

}  // namespace detail

/// Chooses the plan and the size of pieces for an object of `length` bytes: the simplest of those that are
/// predicted to take at most 5 % longer than the fastest, because predictions are no better than that. The
/// order from simple to complex is whole, chain, k-ary, circulant; of one plan, larger pieces first. Returns
/// nothing if the object has more than `most_bulk_bytes`. It looks at 50 candidates at most.
constexpr std::optional<bulk_choice> choose_bulk(const bulk_members& members, std::uint64_t length,
                                                 const bulk_costs& costs,
                                                 const bulk_choice_options& options = {}) {
  const detail::bulk_candidates all(members, length, costs, options);
  if (all.begin() == all.end()) return std::nullopt;
  const auto time = [](const bulk_choice& choice) { return choice.predicted_ns; };
  const std::uint64_t fastest = std::ranges::min_element(all, {}, time)->predicted_ns;
  const std::uint64_t good_enough = (detail::saturating(fastest) + fastest / 20).value();
  return *std::ranges::find_if(all, [&](std::uint64_t ns) { return ns <= good_enough; }, time);
}

}  // namespace scoll
