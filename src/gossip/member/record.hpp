#pragma once

#include <cstdint>

#include "gossip/configuration.hpp"
#include "gossip/verdict.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// Knows which messages of one life of a sender have arrived before. The latest 64 are told apart; earlier
/// ones count as repeated.
class replay_guard {
 public:
  void begin() noexcept { *this = {}; }
  bool seen(std::uint64_t sequence) const noexcept {
    if (sequence > highest_) return false;
    const std::uint64_t back = highest_ - sequence;
    return back >= 64 || (mask_ >> back & 1U) != 0;
  }
  void add(std::uint64_t sequence) noexcept {
    if (sequence > highest_) {
      const std::uint64_t forward = sequence - highest_;
      mask_ = forward >= 64 ? 0 : mask_ << forward;
      highest_ = sequence;
    }
    mask_ |= std::uint64_t{1} << (highest_ - sequence);
  }

 private:
  std::uint64_t highest_ = 0;
  std::uint64_t mask_ = 0;
};

/// The latest life of a sender from which a kind of its messages has arrived, and which of them.
struct heard_life {
  std::uint64_t incarnation = 0;
  replay_guard guard;
};

/// The record of one participant, beside its age and its life. Everything that each message touches lies in
/// one cache line, because with a thousand participants hardly any line is still in the cache when the next
/// message comes.
struct alignas(64) record {
  heard_life agreeing;
  std::uint64_t last_direct = verdict::never;
  std::uint64_t last_tried = verdict::never;
  std::uint64_t announced = 0;  ///< the life that listeners know of
  std::uint32_t unanswered = 0;
  liveness state = liveness::unknown;
  bool confirmed = false;  ///< since it was held dead, a participant that hears it has named its life
  std::uint8_t age_then = 255;
  std::uint8_t threshold_then = 0;

  std::uint64_t since = verdict::never;
  double loss_then = 0;
  std::uint32_t aliveness = 0;
  /// for messages of another configuration; kept apart, because they must change nothing
  heard_life disagreeing;
  time_point next_report{};  ///< of another configuration; there is none before
  time_point next_vague{};   ///< the same for one that does not say what differs
};
static_assert(sizeof(record) == 128);

}  // namespace scoll::gossip
