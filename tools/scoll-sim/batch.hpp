#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/run.hpp"

namespace scoll::sim {

/// A range of seeds to run, both ends included.
struct batch_options {
  plan_options plan;
  std::uint64_t first = 1;
  std::uint64_t last = 1;
  std::uint32_t jobs = 2;
  bool progress = true;  ///< a line on standard error now and then
  bool keep_hashes = false;
};

struct batch_report {
  run_report sum;
  std::uint64_t seeds = 0;
  double cpu_seconds = 0;
  bool failed = false;
  std::uint64_t failed_seed = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> hashes;  ///< seed and trace hash, by seed
};

/// Runs the seeds in `jobs` processes, because a world has only one thread. Stops at the first seed that
/// fails: by a property, by a signal, or by not ending.
batch_report run_batch(const batch_options& options);

/// Runs a plan in a process of its own. Returns an empty text on success, else the property that did not
/// hold, or how the process died.
std::string failure_of(const plan& p);

/// Removes events for as long as the plan fails by the same property. Progress goes to standard error.
plan minimised(plan p, const std::string& property);

}  // namespace scoll::sim
