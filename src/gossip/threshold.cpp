#include "gossip/threshold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace scoll::gossip {
namespace {

// These are from docs/gossip.md: the part of an age beyond the hops, the safety margin of the fit, and the
// chance below which silent cycles are no rarer, because hops and clocks have a spread of their own.
constexpr std::uint32_t beyond_hops = 2;
constexpr double margin = 1.4;
constexpr double least_chance = 0.01;
constexpr double tail_begins_at = 1e-3;
constexpr std::uint32_t beyond_pause = 6;
constexpr std::uint32_t relative_ages_more = 5;
constexpr double seconds_per_year = 365.25 * 24 * 3600;

double to_seconds(nanoseconds d) noexcept {
  return std::chrono::duration<double>(d).count();
}

std::uint32_t hops(std::uint32_t participants) noexcept {
  return (logarithm_threshold(participants) + 1) / 2;
}

/// The age up to which there is no tail yet.
double body(const threshold_input& in) noexcept {
  const std::uint32_t more = in.ages == age_rule::relative_ages ? relative_ages_more : 0;
  return hops(in.participants) + beyond_hops + more;
}

/// The chances per year for an age to be too high: one per observer, observed participant and cycle.
double chances_per_year(const threshold_input& in) noexcept {
  const double n = in.participants;
  return n * std::max(1.0, n - 1) * seconds_per_year / to_seconds(in.interval);
}

}  // namespace

std::uint32_t logarithm_threshold(std::uint32_t participants) noexcept {
  return participants <= 1 ? 1 : static_cast<std::uint32_t>(std::bit_width(participants - 1));
}

double silent_cycle_chance(double loss, std::uint32_t retries) noexcept {
  const double p = std::clamp(loss, 0.0, 0.99);
  const double unanswered = 1 - (1 - p) * (1 - p);
  double all_unanswered = 1, pings = 0;
  for (std::uint32_t i = 0; i <= retries; ++i) {
    pings += all_unanswered;
    all_unanswered *= unanswered;
  }
  return std::clamp(margin * all_unanswered * std::exp(-(1 - p) * pings), least_chance, 0.95);
}

std::uint32_t least_threshold(nanoseconds interval, nanoseconds forgiven_pause) noexcept {
  const auto pause = (forgiven_pause.count() + interval.count() - 1) / interval.count();
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(pause + beyond_pause, 1, highest_threshold));
}

std::uint32_t threshold_cycles(const threshold_input& in) noexcept {
  const double decay = -std::log(silent_cycle_chance(in.loss, in.retries));
  const double rarity = std::log(tail_begins_at * chances_per_year(in) / in.false_verdicts_per_year);
  const double cycles = std::ceil(body(in) + std::max(0.0, rarity) / decay);
  const double least = least_threshold(in.interval, in.forgiven_pause);
  return static_cast<std::uint32_t>(std::clamp(cycles, least, double{highest_threshold}));
}

double false_verdicts_per_year(const threshold_input& in, std::uint32_t threshold) noexcept {
  const double beyond = std::max(0.0, threshold - body(in));
  return tail_begins_at * chances_per_year(in) * std::pow(silent_cycle_chance(in.loss, in.retries), beyond);
}

}  // namespace scoll::gossip
