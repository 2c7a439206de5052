#pragma once

#include <chrono>
#include <cstdint>

#include "gossip/options.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::sim {

constexpr nanoseconds gossip_interval = gossip::least_interval;
constexpr nanoseconds gossip_faults_begin = std::chrono::seconds(12);
constexpr nanoseconds gossip_faults_end = std::chrono::seconds(45);
constexpr nanoseconds gossip_forever = std::chrono::seconds(1'000'000);  ///< longer than every run
/// The cycles for which a start is silent beyond the threshold.
constexpr std::uint32_t gossip_stealth_beyond = 3;

constexpr double in_gossip_cycles(nanoseconds time) noexcept {
  return static_cast<double>(time.count()) / static_cast<double>(gossip_interval.count());
}

constexpr nanoseconds gossip_cycles(double count) noexcept {
  return nanoseconds(static_cast<std::int64_t>(count * static_cast<double>(gossip_interval.count())));
}

}  // namespace scoll::sim
