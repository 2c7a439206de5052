#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// Runs that are made one after the other, until one of them fails.
struct mutant_trial {
  std::string mutant;  ///< switched on in all of them; none if empty
  std::vector<plan_options> runs;
};

struct trial_result {
  std::optional<plan_options> failed;  ///< the run that failed
  std::string property;                ///< the property that did not hold, or how the process died
  double seconds = 0;                  ///< of real time
};

/// Switches one mutant on for the rest of the process. Throws `std::runtime_error` for an unknown name.
void switch_on(std::string_view name);

/// Makes each trial in a process of its own, `jobs` at a time. A run fails if a property does not hold, if
/// the process dies, or if it takes longer than a minute. The results have the order of the trials. With
/// `progress`, standard error shows how many are done.
std::vector<trial_result> run_trials(const std::vector<mutant_trial>& trials, std::uint32_t jobs,
                                     bool progress);

}  // namespace scoll::sim
