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

#include "scoll/bulk/pieces.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/knomial.hpp"

namespace scoll {

/// The cost of moving bulk data from one member to another. The defaults are for links that have not been
/// measured.
struct bulk_costs {
  /// The time for a piece beside that for its bytes, in ns.
  std::uint64_t piece_ns = 40'000;
  /// The time of a link for a byte, in ps.
  std::uint64_t link_ps = 300;
  /// The time for hashing a byte, in ps.
  std::uint64_t hash_ps = 60;
  /// The time of a host for each byte that one of its members receives, in ps.
  std::uint64_t host_ps = 300;

  friend bool operator==(const bulk_costs&, const bulk_costs&) = default;
};

/// The shape of a plan: what the time for a broadcast depends on.
struct bulk_shape {
  /// The rounds until the last member has the first piece.
  std::uint32_t hops = 0;
  /// The most members that one member sends a piece to.
  std::uint32_t fan_out = 0;

  friend bool operator==(const bulk_shape&, const bulk_shape&) = default;
};

/// The shape of a tree whose root has the most children, as in all trees of the library.
template <spanning_tree T>
constexpr bulk_shape shape_of(const T& tree, std::uint32_t n) {
  return {.hops = tree.subtree_levels(n, 0) - 1, .fan_out = tree.fan_out(n, 0)};
}

/// The members that a broadcast is for.
struct bulk_members {
  /// The number of members, the root among them; at least 1.
  std::uint32_t count = 1;
  /// The number of members on the host that has the most of them; 1 to `count`.
  std::uint32_t on_one_host = 1;
  /// The shape of the request's tree (`shape_of`).
  bulk_shape control{.hops = 1, .fan_out = 1};
};

/// The shape of `plan` among these members.
constexpr bulk_shape shape_of(const bulk_plan& plan, const bulk_members& members) {
  const std::uint32_t n = members.count;
  switch (plan.kind()) {
    case bulk_plan_kind::chain: return shape_of(chain{}, n);
    case bulk_plan_kind::kary: return shape_of(kary{plan.radix()}, n);
    case bulk_plan_kind::knomial: return shape_of(knomial{plan.radix()}, n);
    case bulk_plan_kind::circulant:
      return {.hops = static_cast<std::uint32_t>(std::bit_width(n - 1)), .fan_out = 1};
    default: return members.control;
  }
}

namespace detail {

/// Products and sums that stay at the greatest number instead of starting again from 0.
constexpr std::uint64_t saturating_multiply(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}
constexpr std::uint64_t saturating_add(std::uint64_t a, std::uint64_t b) noexcept {
  std::uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? std::numeric_limits<std::uint64_t>::max() : result;
}

}  // namespace detail

/// Predicts the time in ns from the start of the broadcast until the last member has verified the last piece.
/// A round takes the time for one piece: `piece_ns`, then each byte once for each consumer, then its hash.
/// Plans that work piece by piece take a round for each hop and one for each further piece; `whole` takes one
/// round for each hop, with all bytes. No plan is faster than the busiest host, which receives the whole
/// object for each of its members but the root. Where all members share a host, that is what counts, and no
/// plan is much better than another. Times beyond 213 days are all the same.
constexpr std::uint64_t predict_bulk(const bulk_plan& plan, const bulk_members& members,
                                     const bulk_pieces& pieces, const bulk_costs& costs) {
  if (members.count == 1 || pieces.count() == 0) return 0;
  const bulk_shape shape = shape_of(plan, members);
  const bool whole = plan.kind() == bulk_plan_kind::whole;
  const std::uint64_t parts = whole ? 1 : pieces.count();
  const std::uint64_t bytes = (pieces.length() + parts - 1) / parts;
  const std::uint64_t byte_ps =
      detail::saturating_add(detail::saturating_multiply(shape.fan_out, costs.link_ps), costs.hash_ps);
  const std::uint64_t round_ps = detail::saturating_add(detail::saturating_multiply(costs.piece_ns, 1000),
                                                        detail::saturating_multiply(bytes, byte_ps));
  const std::uint64_t plan_ps = detail::saturating_multiply(shape.hops + parts - 1, round_ps);
  const std::uint32_t receivers = std::min(members.on_one_host, members.count - 1);
  const std::uint64_t host_ps =
      detail::saturating_multiply(detail::saturating_multiply(receivers, pieces.length()), costs.host_ps);
  const std::uint64_t time_ps = std::max(plan_ps, host_ps);
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
/// or k-nomial tree of another radix is more than 5 % faster than the best of these; for smaller objects it
/// can be.
inline constexpr std::array candidate_plans{bulk_plan::whole(),  bulk_plan::chain(),    bulk_plan::binary(),
                                            bulk_plan::kary(3),  bulk_plan::kary(4),    bulk_plan::kary(8),
                                            bulk_plan::kary(16), bulk_plan::circulant()};

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
/// nothing if the object has more than `most_bulk_bytes`. It looks at 40 candidates at most.
constexpr std::optional<bulk_choice> choose_bulk(const bulk_members& members, std::uint64_t length,
                                                 const bulk_costs& costs,
                                                 const bulk_choice_options& options = {}) {
  const detail::bulk_candidates all(members, length, costs, options);
  if (all.begin() == all.end()) return std::nullopt;
  const auto time = [](const bulk_choice& choice) { return choice.predicted_ns; };
  const std::uint64_t fastest = std::ranges::min_element(all, {}, time)->predicted_ns;
  const std::uint64_t good_enough = detail::saturating_add(fastest, fastest / 20);
  return *std::ranges::find_if(all, [&](std::uint64_t ns) { return ns <= good_enough; }, time);
}

}  // namespace scoll
