#pragma once

/// The circulant plan, by which n members have b pieces after q - 1 + b rounds, q = ceil(log2 n). No plan
/// takes fewer rounds in which each member sends and receives one piece. The schedule is that of J. L. Träff
/// (arXiv 2407.18004).
///
/// The members stand on a circle in the order of their relative ranks. The rounds use q *slots*, one after
/// the other. In slot k each member r but the root gets a piece from r - skip[k], and each gives one to r +
/// skip[k] unless that is the root. q rounds, one for each slot, are a *period*. From one period to the next,
/// the piece that a slot brings to a member goes up by q, so a member's schedule consists of one number for
/// each slot. A number below 0 means that the slot brings nothing in that period.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {

/// The distances on the circle: skip[q] = n, and each further one is half of the one above, rounded up, down
/// to skip[0] = 1.
class circulant_skips {
 public:
  /// The most slots that a circle of 32-bit ranks can have.
  static constexpr std::uint32_t most_slots = 32;

  /// n >= 2.
  constexpr explicit circulant_skips(std::uint32_t n) noexcept
      : slots_(static_cast<std::uint32_t>(std::bit_width(n - 1))) {
    SCOLL_ASSERT(n >= 2, "a circle has at least two members");
    skips_[slots_] = n;
    for (std::uint32_t k = slots_; k-- > 0;) skips_[k] = skips_[k + 1] / 2 + skips_[k + 1] % 2;
  }

  /// q.
  constexpr std::uint32_t slots() const noexcept { return slots_; }
  constexpr std::uint32_t members() const noexcept { return skips_[slots_]; }
  /// k <= q.
  constexpr std::uint32_t operator[](std::uint32_t k) const noexcept { return skips_[k]; }

  /// The member that gives a piece to r in slot k, and the one that r gives a piece to.
  constexpr std::uint32_t source(std::uint32_t r, std::uint32_t k) const noexcept {
    return r >= skips_[k] ? r - skips_[k] : r + (members() - skips_[k]);
  }
  constexpr std::uint32_t consumer(std::uint32_t r, std::uint32_t k) const noexcept {
    return r < members() - skips_[k] ? r + skips_[k] : r - (members() - skips_[k]);
  }

 private:
  std::uint32_t slots_;
  std::array<std::uint32_t, most_slots + 1> skips_{};
};

/// Finds which piece each slot brings to a member r other than the root.
///
/// In each period the root sends q new pieces: number e in slot e. Each other member is a sum of different
/// skips, taken greedily, the largest first; the last of them, skip[e], gives the member its *base* e. In
/// each period it gets the new piece of its base, and from the period before the pieces of all other bases.
/// The search decides which slot brings which. It visits sums of descending skips behind the place of r,
/// counted n places further on. Each slot, one after the other, takes the last term of a sum that lies no
/// farther than its source and that lies behind those of the slots before. It needs about 3 q steps.
class circulant_search {
 public:
  constexpr circulant_search(const circulant_skips& skips, std::uint32_t r) noexcept
      : skips_(skips), end_(std::uint64_t{skips.members()} + r), own_base_(base_of(skips, r)) {
    const std::uint32_t q = skips.slots();
    unused_ = ((std::uint64_t{2} << q) - 1) & ~(std::uint64_t{1} << own_base_);
    search(0, 2 * std::uint64_t{skips.members()}, static_cast<int>(q));
    SCOLL_ASSERT(found_ == q, "every slot of a circulant schedule brings a piece");
  }

  constexpr std::uint32_t own_base() const noexcept { return own_base_; }
  /// The base of the piece that each slot brings; q stands for the base of r itself.
  constexpr const std::array<std::uint8_t, circulant_skips::most_slots>& bases() const noexcept {
    return bases_;
  }

 private:
  static constexpr std::uint32_t base_of(const circulant_skips& skips, std::uint32_t r) noexcept {
    std::uint32_t k = skips.slots() - 1;
    for (std::uint32_t left = r; left != skips[k]; --k) {
      if (left > skips[k]) left -= skips[k];
    }
    return k;
  }

  /// The place of r's source in slot k, counted n places further on. It falls as k grows.
  constexpr std::uint64_t source(std::uint32_t k) const noexcept { return end_ - skips_[k]; }
  /// The next lower unused base, or -1.
  constexpr int below(int base) const noexcept {
    return static_cast<int>(std::bit_width(unused_ & ((std::uint64_t{1} << base) - 1))) - 1;
  }

  /// Extends the sum `at` by one skip, from `base` downwards, and by more where that stays behind the source
  /// of the next slot. Fills slots from `found_` on with sums below `limit`.
  constexpr void search(std::uint64_t at, std::uint64_t limit, int base) noexcept {
    for (; base >= 0 && found_ < skips_.slots(); base = below(base)) {
      const std::uint64_t here = at + skips_[static_cast<std::uint32_t>(base)];
      if (here > source(found_) || here >= limit) continue;
      if (here <= source(found_ + 1)) search(here, limit, base);
      if (found_ == skips_.slots() || at > source(found_ + 1)) return;
      limit = here;
      bases_[found_++] = static_cast<std::uint8_t>(base);
      unused_ &= ~(std::uint64_t{1} << base);
    }
  }

  const circulant_skips& skips_;
  std::uint64_t end_;
  std::uint32_t own_base_;
  std::uint64_t unused_ = 0;  // a bit for each base that no slot brings yet
  std::uint32_t found_ = 0;   // the number of slots that have theirs
  std::array<std::uint8_t, circulant_skips::most_slots> bases_{};
};

/// The pieces that one member other than the root gets, round by round. It is a pure value of less than 200
/// bytes, made in O(log n) steps.
class circulant_schedule {
 public:
  /// n members, 0 < r < n, `pieces` >= 1.
  constexpr circulant_schedule(std::uint32_t n, std::uint32_t r, std::uint32_t pieces) noexcept
      : skips_(n), rank_(r), pieces_(pieces) {
    SCOLL_ASSERT(0 < r && r < n && pieces != 0, "a schedule is for a member that gets pieces");
    const circulant_search found(skips_, r);
    const std::uint32_t q = slots();
    SCOLL_ASSERT(q != 0, "two members have a slot already");
    for (std::uint32_t k = 0; k < q; ++k) {
      const std::uint32_t base = found.bases()[k];
      if (base == q) own_slot_ = k;
      first_[k] = static_cast<std::int8_t>(base == q ? found.own_base() : base - q);
    }
    left_out_ = (q - (pieces - 1) % q) % q;
  }

  constexpr std::uint32_t slots() const noexcept { return skips_.slots(); }
  constexpr std::uint32_t rounds() const noexcept { return slots() - 1 + pieces_; }

  constexpr std::uint32_t slot_in(std::uint32_t round) const noexcept {
    return (round + left_out_) % slots();
  }
  /// The piece that arrives in a round below `rounds()`, if there is one.
  constexpr std::optional<std::uint32_t> piece_in(std::uint32_t round) const noexcept {
    const std::uint32_t slot = slot_in(round);
    const std::int64_t number = first_[slot] + std::int64_t{round} - slot;
    if (number < 0) return std::nullopt;
    return static_cast<std::uint32_t>(std::min<std::int64_t>(number, pieces_ - 1));
  }

  /// The member that gives the pieces of a slot.
  constexpr std::uint32_t source(std::uint32_t slot) const noexcept { return skips_.source(rank_, slot); }
  /// True if the slot brings any piece. Where there are few pieces, most slots bring none.
  constexpr bool brings_any(std::uint32_t slot) const noexcept {
    return first_[slot] + std::int64_t{pieces_} > 0;
  }
  /// The slot that brings a piece.
  constexpr std::uint32_t slot_of(std::uint32_t piece) const noexcept {
    if (piece == pieces_ - 1) return own_slot_;
    std::uint32_t slot = 0;
    while ((std::int64_t{piece} + left_out_ - first_[slot]) % slots() != 0) ++slot;
    return slot;
  }

 private:
  circulant_skips skips_;
  std::uint32_t rank_;
  std::uint32_t pieces_;
  std::uint32_t own_slot_ = 0;  // the slot that brings the piece of the member's own base, and the last piece
  // The first period is cut short by so many slots at its beginning that the last one is complete.
  std::uint32_t left_out_ = 0;
  std::array<std::int8_t, circulant_skips::most_slots> first_{};  // by slot: what the first period brings
};

}  // namespace scoll::detail
