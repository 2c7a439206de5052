#pragma once

/// The routes of the pieces of bulk data: from whom each member gets each piece, and to whom it passes pieces
/// on. Members are given by relative rank; the root, which has all pieces, is 0. Every member computes the
/// same routes by itself.

#include <cstdint>
#include <optional>

#include "scoll/bulk/circulant.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/coro/assert.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::detail {

/// A piece, and the member to get it from.
struct bulk_fetch {
  std::uint32_t piece = 0;
  std::uint32_t source = 0;

  friend constexpr bool operator==(const bulk_fetch&, const bulk_fetch&) = default;
};

/// The pieces that one member other than the root gets, and the members that it gets them from. It is a pure
/// value of less than 400 bytes.
class bulk_intake {
 public:
  /// The number of rounds; no round brings more than one piece.
  constexpr std::uint32_t rounds() const noexcept { return schedule_ ? schedule_->rounds() : pieces_; }

  /// Returns the piece to fetch in a round below `rounds()`, and its source; nothing if the round brings no
  /// piece. All rounds together bring each piece once. O(1).
  constexpr std::optional<bulk_fetch> fetch(std::uint32_t round) const noexcept {
    if (!schedule_) return bulk_fetch{round, parent_};
    const auto piece = schedule_->piece_in(round);
    if (!piece) return std::nullopt;
    return bulk_fetch{*piece, schedule_->source(schedule_->slot_in(round))};
  }

  /// Returns the member to get a piece from. It takes O(log n) steps.
  constexpr std::uint32_t source(std::uint32_t piece) const noexcept {
    return schedule_ ? schedule_->source(schedule_->slot_of(piece)) : parent_;
  }

  /// Calls `fn(source)` for each member that gives any piece, once; no more than 32.
  template <class Fn>
  constexpr void for_each_source(Fn fn) const {
    if (!schedule_) {
      if (pieces_ != 0) fn(parent_);
      return;
    }
    for (std::uint32_t slot = 0; slot < schedule_->slots(); ++slot) {
      if (schedule_->brings_any(slot)) fn(schedule_->source(slot));
    }
  }

 private:
  friend class bulk_routes;

  constexpr bulk_intake(std::uint32_t parent, std::uint32_t pieces) noexcept
      : parent_(parent), pieces_(pieces) {}
  constexpr explicit bulk_intake(const circulant_schedule& schedule) noexcept : schedule_(schedule) {}

  std::uint32_t parent_ = 0;  // the only source, unless there is a schedule
  std::uint32_t pieces_ = 0;
  std::optional<circulant_schedule> schedule_;
};

/// The routes of one object's pieces through n members. It allocates nothing.
class bulk_routes {
 public:
  /// `plan` is a plan (`check_bulk_plan`), n >= 1, and `control` is the tree of the request, which must
  /// outlive the routes. With `pieces` 0 nobody gets anything.
  constexpr bulk_routes(const bulk_plan& plan, std::uint32_t n, std::uint32_t pieces,
                        const any_tree& control) noexcept
      : plan_(plan), n_(n), pieces_(pieces), control_(&control) {
    SCOLL_ASSERT(check_bulk_plan(plan) == bulk_plan_fault::none && n != 0, "routes need a plan and members");
  }

  /// Returns what member r gets; 0 < r < n. It takes O(log n) steps.
  constexpr bulk_intake intake(std::uint32_t r) const {
    SCOLL_ASSERT(0 < r && r < n_, "every member but the root gets pieces");
    if (is_circulant()) return bulk_intake(circulant_schedule(n_, r, pieces_));
    return {parent(r), pieces_};
  }

  /// Calls `fn(consumer)` for each member that gets any piece from r, once. O(log^2 n) for the circulant
  /// plan, otherwise the number of consumers.
  template <class Fn>
  constexpr void for_each_consumer(std::uint32_t r, Fn fn) const {
    if (is_circulant()) {
      const circulant_skips skips(n_);
      for (std::uint32_t slot = 0; slot < skips.slots(); ++slot) {
        const std::uint32_t other = skips.consumer(r, slot);
        if (other != 0 && circulant_schedule(n_, other, pieces_).brings_any(slot)) fn(other);
      }
    } else if (pieces_ != 0) {
      with_tree([&](const auto& tree) {
        for (const std::uint32_t child : children(tree, n_, r)) fn(child);
      });
    }
  }

  /// True if `other` gets any piece from r; both below n. O(log n).
  constexpr bool is_consumer(std::uint32_t r, std::uint32_t other) const {
    if (other == 0) return false;
    bool found = false;
    intake(other).for_each_source([&](std::uint32_t source) { found = found || source == r; });
    return found;
  }

 private:
  constexpr bool is_circulant() const noexcept {
    return plan_.kind() == bulk_plan_kind::circulant && n_ > 1 && pieces_ != 0;
  }
  /// Calls `fn` with the tree of a plan that has one tree for all pieces.
  template <class Fn>
  constexpr auto with_tree(const Fn& fn) const {
    switch (plan_.kind()) {
      case bulk_plan_kind::chain: return fn(chain{});
      case bulk_plan_kind::kary: return fn(kary{plan_.radix()});
      case bulk_plan_kind::knomial: return fn(knomial{plan_.radix()});
      default: return fn(*control_);
    }
  }
  constexpr std::uint32_t parent(std::uint32_t r) const {
    return with_tree([&](const auto& tree) { return tree.parent(n_, r); });
  }

  bulk_plan plan_;
  std::uint32_t n_;
  std::uint32_t pieces_;
  const any_tree* control_;
};

}  // namespace scoll::detail
