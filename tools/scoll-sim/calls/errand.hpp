#pragma once

#include <cstdint>
#include <vector>

#include "scoll/ship/remote_function.hpp"

namespace scoll::sim {

/// Bits of an errand's behaviour: its particulars besides the work.
enum class errand_bit : std::uint64_t {
  notify = 1,  ///< the caller does not wait for its result
  fails = 2,   ///< its handler returns an error of its own
  throws = 4,
  deaf = 8,       ///< its handler ignores a request to stop
  limited = 16,   ///< waits for one of the few call slots of its host
  relayed = 32,   ///< its handler ships another errand to the next host
  mistyped = 64,  ///< is sent to a function with another argument type
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

/// The result of a shipped call in the simulator.
struct parcel {
  std::uint64_t number = 0;
  std::vector<std::uint8_t> filler;
};

inline constexpr remote_function<errand, parcel> run_errand{"sim.errand"};
/// A function with the same number on the wire but another argument type.
inline constexpr remote_function<std::uint64_t, parcel> mistyped_errand{"sim.errand"};

constexpr std::int32_t told_to_fail = 7;

}  // namespace scoll::sim
