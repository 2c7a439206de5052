#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

/// A participant and the life it is in.
struct life {
  participant_index who = nobody;
  std::uint64_t incarnation = 0;
};

/// The latest known life of every participant, and the choice of which to tell others. News is told in as
/// many messages as it takes to reach all, then all lives are told in turn, so that no participant misses one
/// for ever. A participant that has just started asks for the table itself.
class incarnations {
 public:
  /// The most news kept at once, and the most lives in one message.
  static constexpr std::size_t most_told = 32;

  explicit incarnations(std::uint32_t participants);

  std::uint64_t of(participant_index who) const noexcept { return known_[who]; }
  std::span<const std::uint64_t> all() const noexcept { return known_; }

  /// Learns of a life. True if it is later than the known one; then it is news, unless it is `from_table`.
  bool learn(participant_index who, std::uint64_t incarnation, bool from_table = false) noexcept;
  /// Fills `lives` for one message and returns their number: news first, then as many as are due in turn.
  std::size_t tell(std::span<life> lives) noexcept;

  /// The first entry of the table that has not been received yet; the number of participants when it is
  /// complete.
  std::uint32_t asked_up_to() const noexcept { return asked_up_to_; }
  bool complete() const noexcept { return asked_up_to_ == known_.size(); }
  /// A part of the table has arrived: `lives` entries from `first` on. Their content is learned one by one.
  void received(std::uint32_t first, std::uint32_t lives) noexcept;

 private:
  struct news {
    participant_index who = nobody;
    std::uint32_t times_left = 0;
  };

  void announce(participant_index who) noexcept;

  std::vector<std::uint64_t> known_;
  std::vector<news> news_;
  std::uint32_t times_told_;
  std::uint32_t in_turn_;
  std::uint32_t next_in_turn_ = 0;
  std::uint32_t asked_up_to_ = 0;
};

}  // namespace scoll::gossip
