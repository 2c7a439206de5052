#pragma once

#include <cstdint>

#include "gossip/options.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// What the threshold follows from.
struct threshold_input {
  std::uint32_t participants = 2;
  double loss = 0.05;  ///< of messages
  nanoseconds interval = least_interval;
  double false_verdicts_per_year = 1;  ///< of the whole cluster
  nanoseconds forgiven_pause = std::chrono::seconds(1);
  std::uint32_t retries = 2;
  age_rule ages = age_rule::guarded_stamps;
};

/// Ages above that mean dead. Thresholds, in cycles, do not go beyond it: an age has one byte.
inline constexpr std::uint32_t highest_threshold = 200;

/// The smallest threshold, in cycles, that keeps to the budget and forgives the pause (docs/gossip.md).
std::uint32_t threshold_cycles(const threshold_input& in) noexcept;
/// False verdicts per cluster-year to expect at most with a threshold; the other way round. Without pauses.
double false_verdicts_per_year(const threshold_input& in, std::uint32_t threshold) noexcept;
/// The least threshold at any size and loss: a pause that is forgiven, and what comes on top of it.
std::uint32_t least_threshold(nanoseconds interval, nanoseconds forgiven_pause) noexcept;
/// The source's: log2 of the participants, rounded up.
std::uint32_t logarithm_threshold(std::uint32_t participants) noexcept;

/// The chance that a participant is not heard by anybody in a cycle of its own: it sets the tail of ages.
double silent_cycle_chance(double loss, std::uint32_t retries) noexcept;

}  // namespace scoll::gossip
