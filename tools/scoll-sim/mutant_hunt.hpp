#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "plan.hpp"

namespace scoll::sim {

/// How the deliberate bugs of `mutants.hpp` are looked for.
struct mutant_options {
  plan_options plan;
  std::uint64_t seeds = 200;  ///< of each, from 1; one that is not found in them survives
  std::string only;           ///< one of them, by name; all if empty
  std::uint32_t jobs = 2;
  bool progress = true;  ///< a line on standard error now and then
};

/// What came of one of them; the first is the library as it is, which must survive.
struct mutant_report {
  std::string_view name;
  std::string_view what;
  std::uint64_t seed = 0;  ///< that found it; 0: it survived
  std::string property;    ///< that did not hold, or how the process died
  double seconds = 0;      ///< of real time
};

/// True in the build that has the deliberate bugs.
bool has_mutants() noexcept;
/// Switches one on for the rest of the process. Throws `std::runtime_error` for a name that is none.
void switch_on(std::string_view name);

/// Runs every mutant in a process of its own, `jobs` at a time, until a seed finds it. A process that dies
/// has found it, and so has one that does not end. Throws `std::runtime_error` for a name that is none.
std::vector<mutant_report> run_mutants(const mutant_options& options);

/// True if all mutants were found, and nothing was in the library as it is.
bool all_found(const std::vector<mutant_report>& reports);

/// A table, or JSON with one object per mutant.
std::string to_table(const std::vector<mutant_report>& reports);
std::string to_json(const std::vector<mutant_report>& reports);

}  // namespace scoll::sim
