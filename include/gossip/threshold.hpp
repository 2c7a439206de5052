#pragma once

#include <cstdint>

#include "gossip/options.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The values from which the threshold follows.
struct threshold_input {
  std::uint32_t participants = 2;
  double loss = 0.05;  ///< the share of lost messages
  nanoseconds interval = least_interval;
  double false_verdicts_per_year = 1;  ///< in the whole cluster
  nanoseconds forgiven_pause = std::chrono::seconds(1);
  std::uint32_t retries = 2;
  age_rule ages = age_rule::guarded_stamps;
};

/// The highest threshold, in cycles. Higher ones do not fit, because an age has one byte.
inline constexpr std::uint32_t highest_threshold = 200;

/// The smallest threshold, in cycles, that keeps within the budget of false verdicts and forgives the pause
/// (docs/gossip.md).
std::uint32_t threshold_cycles(const threshold_input& in) noexcept;
/// The most false verdicts per cluster-year to expect with a threshold; the inverse of `threshold_cycles`,
/// without pauses.
double false_verdicts_per_year(const threshold_input& in, std::uint32_t threshold) noexcept;
/// The least threshold, in cycles, at any size and loss: a forgiven pause and a margin.
std::uint32_t least_threshold(nanoseconds interval, nanoseconds forgiven_pause) noexcept;
/// The threshold of the original protocol: log2 of the participants, rounded up.
std::uint32_t logarithm_threshold(std::uint32_t participants) noexcept;

/// The chance that no one hears a participant in one of its own cycles. It determines the tail of ages.
double silent_cycle_chance(double loss, std::uint32_t retries) noexcept;

}  // namespace scoll::gossip
