#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// Options of the search for the deliberate bugs of `mutants.hpp`.
struct mutant_options {
  plan_options plan;
  std::uint64_t seeds = 200;  ///< per mutant, from 1; a mutant that none of them finds survives
  std::string only;           ///< the name of one mutant; all if empty
  std::uint32_t jobs = 2;
  bool progress = true;  ///< a line on standard error now and then
};

/// The result for one mutant. The first result is for the unchanged library, which must survive.
struct mutant_report {
  std::string_view name;
  std::string_view what;
  std::uint64_t seed = 0;  ///< the seed that found it; 0: it survived
  std::string property;    ///< the property that did not hold, or how the process died
  double seconds = 0;      ///< of real time
};

/// True in the build that has the deliberate bugs.
bool has_mutants() noexcept;
/// Enables one mutant for the rest of the process. Throws `std::runtime_error` for an unknown name.
void switch_on(std::string_view name);

/// Runs every mutant in a process of its own, `jobs` at a time, until a seed finds it. A process that dies or
/// does not end has found its mutant as well. Throws `std::runtime_error` for an unknown name.
std::vector<mutant_report> run_mutants(const mutant_options& options);

/// True if all mutants were found and the unchanged library passed.
bool all_found(const std::vector<mutant_report>& reports);

/// Returns a table, or JSON with one object per mutant.
std::string to_table(const std::vector<mutant_report>& reports);
std::string to_json(const std::vector<mutant_report>& reports);

}  // namespace scoll::sim
