#pragma once

#include <cstdint>
#include <string>

#include "tools/scoll-sim/plan/plan.hpp"

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// The options about mutants.
struct mutant_arguments {
  bool hunt = false;
  std::string only;   ///< the name of one mutant
  std::string known;  ///< files; not given if empty
  std::string write;
  std::string check;

  bool asked() const noexcept { return hunt || !check.empty(); }
};

void add_mutant_options(CLI::App& app, mutant_arguments& a);

/// Hunts for the mutants, or checks a file that says what finds them, and prints the results. Returns 0 if
/// all are found, else 1. Throws `std::runtime_error` in a build without mutants, and for files that cannot be
/// read or written.
int run_mutant_command(const mutant_arguments& a, const plan_options& plan, std::uint32_t jobs, bool json,
                       bool quiet);

}  // namespace scoll::sim
