#pragma once

#include <chrono>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll::sim {

/// What the nodes allow for a round trip, and keep as a margin for each level of a tree.
constexpr nanoseconds rtt_estimate = std::chrono::milliseconds(20);
constexpr nanoseconds level_margin = std::chrono::milliseconds(5);

/// The time that the library takes for `levels` levels whose members work for `processing`, at most.
constexpr nanoseconds longest_way(std::uint32_t levels, nanoseconds processing,
                                  nanoseconds round_trip = rtt_estimate) {
  return static_cast<std::int64_t>(levels) * (round_trip + level_margin) + processing;
}

}  // namespace scoll::sim
