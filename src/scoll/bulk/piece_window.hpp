#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {

/// The slots of a member that keeps no more than a few pieces at a time: piece p lies in slot p modulo their
/// number. A slot is free for the next piece when the service has seen its piece, every reader has been sent
/// it, and no message refers to it any more. Slots come free in the order of their pieces. It only counts: it
/// has no memory and no clock.
class piece_window {
 public:
  static constexpr std::uint32_t most_slots = 64;

  /// Begins with `pieces` pieces, which pass through at most `slots` slots; 0 < slots <= `most_slots`.
  void begin(std::uint32_t pieces, std::uint32_t slots, std::span<const std::uint32_t> readers) {
    SCOLL_ASSERT(slots != 0 && slots <= most_slots, "a window has 1 to 64 slots");
    pieces_ = pieces;
    slots_ = std::min(slots, pieces);
    front_ = 0;
    seen_ = sent_ = 0;
    readers_.clear();
    for (const std::uint32_t member : readers) readers_.push_back({member, 0});
  }

  std::uint32_t slots() const noexcept { return slots_; }
  /// The first piece that is still in its slot, or that has not come yet.
  std::uint32_t front() const noexcept { return front_; }
  /// Pieces below this one have a slot, or have passed.
  std::uint32_t limit() const noexcept { return std::min(pieces_, front_ + slots_); }

  /// The service has seen the piece, or does not want to.
  void seen(std::uint32_t piece) noexcept { seen_ |= bit(piece); }
  /// The piece has been sent to a member.
  void sent(std::uint32_t piece, std::uint32_t member) noexcept {
    sent_ |= bit(piece);
    for (reader& r : readers_) {
      if (r.member == member) r.has |= bit(piece);
    }
  }
  /// No message refers to the piece any more.
  void returned(std::uint32_t piece) noexcept { sent_ &= ~bit(piece); }
  /// A member reads nothing more.
  void gone(std::uint32_t member) noexcept {
    std::erase_if(readers_, [&](const reader& r) { return r.member == member; });
  }

  /// No member reads anything more.
  void all_gone() noexcept { readers_.clear(); }

  /// True if the service has seen the piece in front, and only readers keep it from passing.
  bool waits_for_readers() const noexcept {
    return front_ + slots_ < pieces_ && (seen_ & bit(front_)) != 0 && !may_pass();
  }
  /// True if the service has not seen the piece in front, and further ones need its slot.
  bool waits_for_service() const noexcept { return front_ + slots_ < pieces_ && (seen_ & bit(front_)) == 0; }
  /// Waits no longer for the readers that have not been sent the piece in front, nor for messages that refer
  /// to slots.
  void give_up_readers() noexcept {
    std::erase_if(readers_, [&](const reader& r) { return (r.has & bit(front_)) == 0; });
    sent_ = 0;
  }
  /// True if the slot of the piece in front is free for a further one.
  bool may_pass() const noexcept;
  /// The piece in front has passed; `may_pass` is true.
  void pass() noexcept {
    const std::uint64_t b = bit(front_++);
    seen_ &= ~b;
    for (reader& r : readers_) r.has &= ~b;
  }

 private:
  struct reader {
    std::uint32_t member = 0;
    std::uint64_t has = 0;  // a bit for each slot
  };

  std::uint64_t bit(std::uint32_t piece) const noexcept { return std::uint64_t{1} << (piece % slots_); }

  std::uint32_t pieces_ = 0;
  std::uint32_t slots_ = 1;
  std::uint32_t front_ = 0;
  std::uint64_t seen_ = 0;  // a bit for each slot
  std::uint64_t sent_ = 0;  // likewise: a message refers to it
  std::vector<reader> readers_;
};

}  // namespace scoll::detail
