#pragma once

#include <cstdint>
#include <vector>

#include "tools/scoll-sim/exhaust/subjects.hpp"

namespace scoll::sim {

/// The misfortunes that befall the members of an agreement, at each step of a run in turn.
enum class misfortune : std::uint8_t {
  death,         ///< the proposer is killed, and the others hear of it
  silent_death,  ///< the same, without a sign on its connections
  two_deaths,    ///< so is the next proposer, at each step after that
  partition,     ///< the proposer and one other are cut off for a while
  verdicts,      ///< the same, and both sides call each other dead
};

/// Runs of nodes in a simulated world, whose members agree, or shrink their group.
struct engine_bounds {
  std::uint32_t members = 3;
  bool shrinks = false;
  misfortune what = misfortune::death;
  std::uint32_t stride = 1;  ///< of the steps at which something happens first
  std::uint32_t second = 1;  ///< of the steps between two deaths
};

/// Makes every run within these bounds: the misfortune comes after 0, 1, 2 ... deliveries and turns.
exhausted check_engine(const engine_bounds& bounds);

/// The runs of 3 to 7 members. `brief`: only those that take seconds together.
std::vector<exhausted> exhaust_engine(bool brief);

}  // namespace scoll::sim
