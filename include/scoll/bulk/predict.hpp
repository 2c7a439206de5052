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
#include "scoll/bulk/shape.hpp"

namespace scoll {

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
  friend constexpr saturating operator/(saturating a, std::uint64_t b) noexcept { return a.value_ / b; }
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

/// An object of so many bytes stays in the caches, so that it may go whole, and its pieces may be large.
inline constexpr std::uint64_t most_cached_bytes = 1U << 20U;

/// The time of a host for a byte in ps, in such pieces. Small ones cost no more than large ones, even if they
/// did between the two members that were measured: in a larger group they are still in the caches when they
/// are passed on.
constexpr saturating host_ps(const bulk_costs& costs, const bulk_pieces& pieces) noexcept {
  const std::uint64_t small = std::min(costs.host_small_ps, costs.host_ps);
  if (small == 0) return costs.host_ps;
  if (pieces.length() <= most_cached_bytes || pieces.piece_bytes() <= most_bulk_piece_bytes / 4) return small;
  if (pieces.piece_bytes() == most_bulk_piece_bytes) return costs.host_ps;
  return small / 2 + costs.host_ps / 2;
}

/// The rounds, in hundredths, that the circulant plan takes beyond its schedule, because members answer
/// orders as they come. They were fitted to what the simulator takes; x is the logarithm of n.
constexpr std::uint64_t circulant_delay(std::uint32_t n, std::uint64_t count) noexcept {
  if (n <= 2) return 0;
  const auto floor = static_cast<std::int64_t>(std::bit_width(n - 1)) - 1;
  const auto x = floor * 100 + ((std::int64_t{n} - (std::int64_t{1} << floor)) * 100 >> floor);
  const auto rounds = [x](std::int64_t square, std::int64_t linear, std::int64_t constant) {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, (square * x / 100 * x / 100 + linear * x / 100) + constant));
  };
  if (count == 1) return rounds(24, -130, 100);
  if (count <= 3) return rounds(33, 30, 50);
  if (count <= 5) return rounds(27, 130, -50);
  const auto doubled = static_cast<std::int64_t>(std::bit_width(count)) - 1;
  return rounds(38, 120 + 30 * std::clamp<std::int64_t>(doubled - 3, 0, 5), -75);
}

/// The time of a plan in ps, hosts left aside.
constexpr saturating predict_plan_ps(const bulk_plan& plan, const bulk_shape& shape, std::uint32_t members,
                                     const bulk_pieces& pieces, const bulk_costs& costs) {
  const std::uint64_t count = pieces.count();
  const std::uint64_t bytes = (pieces.length() + count - 1) / count;
  const saturating hop = saturating(costs.hop_ns) * 1000;
  const saturating link = saturating(bytes) * costs.link_ps;
  const saturating landing = saturating(costs.piece_ns) * 1000 + saturating(bytes) * costs.hash_ps;
  const saturating before = hop * 2;  // the request, and the first order
  const std::uint64_t at_once = pieces_at_once(pieces.piece_bytes());
  const auto longest = [&](const auto& time_of) {
    std::uint64_t most = 0;
    for (const bulk_way& way : shape.ways) most = std::max(most, time_of(way).value());
    return saturating(most);
  };
  if (plan.kind() == bulk_plan_kind::whole) {
    const std::uint64_t last = (count - 1) % at_once + 1;
    return before + longest([&](const bulk_way& way) {
             return (hop + landing * count) * way.hops + link * (count - last) * way.all_sends +
                    link * last * way.sends;
           });
  }
  // An order is sent when the piece before the last ones has landed, so a long way there and back slows the
  // pieces down, unless they come from several members.
  const std::uint64_t orders =
      plan.kind() == bulk_plan_kind::circulant ? 15 : planned_orders(pieces.piece_bytes());
  const saturating round = (hop * 2 + landing + link) / orders;
  const saturating each = std::max(round.value(), (landing + link * shape.fan_out).value());
  const saturating further = before + each * (count - 1);
  const auto first = [&](auto sends) {
    return longest([&](const bulk_way& way) { return (hop + landing) * way.hops + link * sends(way); });
  };
  const auto in_turn = [](const bulk_way& way) { return way.sends; };
  switch (plan.kind()) {
    case bulk_plan_kind::kary: {
      const std::uint64_t late = shape.hops > 1 ? std::clamp(shape.fan_out, 2U, 8U) - 2 : 0;
      return further + first(in_turn) + link * (std::min(count, at_once) - 1) * shape.before_relay +
             saturating(bytes * late * late / 36) * costs.link_ps;
    }
    case bulk_plan_kind::knomial: return further + first([](const bulk_way& way) { return way.all_sends; });
    case bulk_plan_kind::circulant:
      return further + first(in_turn) +
             saturating(circulant_delay(members, count)) * bytes / 100 * costs.link_ps;
    default: return further + first(in_turn);
  }
}

/// The time of a plan, hosts left aside, and that of the busiest host, in ps.
struct bulk_times {
  std::uint64_t plan_ps = 0;
  std::uint64_t host_ps = 0;

  constexpr std::uint64_t ns() const noexcept {
    const std::uint64_t longer = std::max(plan_ps, host_ps);
    return longer / 1000 + (longer % 1000 != 0 ? 1 : 0);
  }
};

constexpr bulk_times predict_times(const bulk_plan& plan, const bulk_shape& shape,
                                   const bulk_members& members, const bulk_pieces& pieces,
                                   const bulk_costs& costs) {
  if (members.count == 1 || pieces.count() == 0) return {};
  const std::uint32_t receivers = std::min(members.on_one_host, members.count - 1);
  return {predict_plan_ps(plan, shape, members.count, pieces, costs).value(),
          (host_ps(costs, pieces) * receivers * pieces.length()).value()};
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
/// KiB each at first. A k-nomial tree's deepest subtree may be served last. The circulant plan among n
/// members takes about 2/5 q^2 + q rounds more, q = log2 n; with few pieces other plans are as fast.
///
/// No plan is faster than the busiest host, which receives the whole object for each of its members but the
/// root. Where all members share a host, that is what counts, and no plan is much better than another. Times
/// beyond 213 days are all the same.
constexpr std::uint64_t predict_bulk(const bulk_plan& plan, const bulk_members& members,
                                     const bulk_pieces& pieces, const bulk_costs& costs) {
  if (members.count == 1 || pieces.count() == 0) return 0;
  return detail::predict_times(plan, shape_of(plan, members), members, pieces, costs).ns();
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

struct bulk_candidate : bulk_choice {
  /// True if a host that members share is the bound, and there are so many pieces that all of them are at
  /// work most of the time.
  bool keeps_host_busy = false;
};

/// All plans with all sizes of pieces that come into question for an object, those first that are taken if
/// predictions do not tell them apart. A size is left out if half of it holds the object as well, and the
/// circulant plan where it would have too few pieces to be better than others.
class bulk_candidates {
 public:
  constexpr bulk_candidates(const bulk_members& members, std::uint64_t length, const bulk_costs& costs,
                            const bulk_choice_options& options) {
    if (options.pinned) {
      add_sizes(*options.pinned, members, length, costs, true);
      return;
    }
    const bool in_cache = members.count == 2 || length <= most_cached_bytes;
    for (const bulk_plan& plan : candidate_plans) {
      const bool later = plan == bulk_plan::whole() && !in_cache;
      if (!later && (!options.passing || plan.can_pass())) add_sizes(plan, members, length, costs, false);
    }
    if (!in_cache && !options.passing) add_sizes(bulk_plan::whole(), members, length, costs, false);
  }

  constexpr const bulk_candidate* begin() const noexcept { return all_.data(); }
  constexpr const bulk_candidate* end() const noexcept { return all_.data() + count_; }

 private:
  // What a member has received whole has left the caches when it is passed on, unless it is small or nobody
  // gets it. Pieces of 256 KiB have not, and are large enough for every other cost.
  static constexpr std::array<std::uint32_t, 5> sizes{1U << 18U, 1U << 19U, 1U << 20U, 1U << 17U, 1U << 16U};
  static constexpr std::uint32_t least_circulant_pieces = 4;

  constexpr void add_sizes(const bulk_plan& plan, const bulk_members& members, std::uint64_t length,
                           const bulk_costs& costs, bool pinned) {
    const bulk_shape shape = members.count == 1 ? bulk_shape{} : shape_of(plan, members);
    for (const std::uint32_t size : sizes) {
      const auto pieces = bulk_pieces::divide(length, size);
      if (!pieces || (length <= size / 2 && size != least_bulk_piece_bytes)) continue;
      if (pieces->count() < least_circulant_pieces && plan == bulk_plan::circulant() && !pinned) continue;
      const bulk_times times = predict_times(plan, shape, members, *pieces, costs);
      const bool by_host = times.host_ps > times.plan_ps && members.count > 2 && members.on_one_host > 1;
      const bool overlaps = plan != bulk_plan::whole() && pieces->count() >= 2 * shape.hops;
      all_[count_++] = {{plan, size, times.ns()}, by_host && overlaps};
    }
  }

  std::array<bulk_candidate, candidate_plans.size() * sizes.size()> all_{};
  std::size_t count_ = 0;
};

}  // namespace detail

/// Chooses the plan and the size of pieces for an object of `length` bytes: the simplest of those that are
/// predicted to take at most 5 % longer than the fastest, because predictions are no better than that. The
/// order from simple to complex is whole, chain, k-ary, circulant; an object of more than 1 MiB goes whole
/// only to a single member, or if that is the fastest by far. If the work of a host that several members
/// share is the bound, those come first that have at least twice as many pieces as hops, because one after
/// the other the members would not keep it busy. Of one plan, pieces of 256 KiB come first, then larger ones,
/// then smaller ones. Returns nothing if the object has more than `most_bulk_bytes`. It looks at 50
/// candidates at most.
constexpr std::optional<bulk_choice> choose_bulk(const bulk_members& members, std::uint64_t length,
                                                 const bulk_costs& costs,
                                                 const bulk_choice_options& options = {}) {
  const detail::bulk_candidates all(members, length, costs, options);
  if (all.begin() == all.end()) return std::nullopt;
  const auto time = [](const bulk_choice& choice) { return choice.predicted_ns; };
  const std::uint64_t fastest = std::ranges::min_element(all, {}, time)->predicted_ns;
  const std::uint64_t good_enough = (detail::saturating(fastest) + fastest / 20).value();
  const auto is_good = [&](const detail::bulk_candidate& c) { return c.predicted_ns <= good_enough; };
  const auto* const found =
      std::ranges::find_if(all, [&](const auto& c) { return c.keeps_host_busy && is_good(c); });
  return found != all.end() ? *found : *std::ranges::find_if(all, is_good);
}

}  // namespace scoll
