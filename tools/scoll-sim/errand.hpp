#pragma once

#include <cstdint>
#include <vector>

#include "scoll/ship/remote_function.hpp"

namespace scoll::sim {

/// What an errand does, beside its work; bits of its behaviour.
enum class errand_bit : std::uint64_t {
  notify = 1,  ///< nobody waits for its result
  fails = 2,   ///< its handler answers with an error of its own
  throws = 4,
  deaf = 8,       ///< its handler does not listen when it is told to stop
  limited = 16,   ///< waits for one of the few places of its host
  relayed = 32,   ///< its handler ships another one to the next host
  mistyped = 64,  ///< is sent to a function that takes something else
};
constexpr bool has(std::uint64_t behaviour, errand_bit bit) {
  return (behaviour & static_cast<std::uint64_t>(bit)) != 0;
}

/// The argument of a shipped call in the simulator.
struct errand {
  std::uint64_t number = 0;
  std::uint64_t behaviour = 0;
  std::uint32_t work_us = 0;
  std::uint32_t result_bytes = 0;
  std::vector<std::uint8_t> filler;
};

/// Its result.
struct parcel {
  std::uint64_t number = 0;
  std::vector<std::uint8_t> filler;
};

inline constexpr remote_function<errand, parcel> run_errand{"sim.errand"};
/// Of the same number on the wire, with another argument.
inline constexpr remote_function<std::uint64_t, parcel> mistyped_errand{"sim.errand"};

constexpr std::int32_t told_to_fail = 7;

}  // namespace scoll::sim
