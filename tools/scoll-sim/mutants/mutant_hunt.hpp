#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/scoll-sim/mutants/mutant_records.hpp"
#include "tools/scoll-sim/mutants/mutant_trials.hpp"
#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// Options of the search for the deliberate bugs of `scoll/coro/mutants.hpp`.
struct mutant_options {
  plan_options plan;                 ///< the workload is tried first for a mutant without a record
  std::vector<mutant_record> known;  ///< the search for a mutant begins with its record
  std::uint64_t seeds = 200;         ///< per mutant and workload, from 1
  std::string only;                  ///< the name of one mutant; all if empty
  std::uint32_t jobs = 2;
  bool progress = true;  ///< a line on standard error now and then
};

/// The result for one mutant. The first report is about the unchanged library, which must survive.
struct mutant_report {
  std::string mutant;
  std::optional<plan_options> found;  ///< the run that found it; none: it survived
  std::string property;               ///< the property that did not hold, or how the process died
  double seconds = 0;                 ///< of real time
};

/// True in the build that has the deliberate bugs.
bool has_mutants();
/// Throws `std::runtime_error` if a mutant of this build has no text, or two of them.
void check_texts();

/// Returns the runs that may find a mutant, in the order in which they are made: the recorded one, all seeds
/// of its workload on as many hosts, then all seeds of the other workloads. `known` may be null.
std::vector<plan_options> runs_to_try(const mutant_record* known, const mutant_options& options);

/// Searches for every mutant in a process of its own, which stops at the first run that fails. Then runs the
/// unchanged library: the runs that found the mutants, and unless `only` one of them was searched for, all
/// seeds of all workloads. Throws `std::runtime_error` for an unknown name.
std::vector<mutant_report> hunt_mutants(const mutant_options& options);

/// True if all mutants were found and the unchanged library passed.
bool all_found(const std::vector<mutant_report>& reports);

/// Returns the records, sorted, with the new ones in place of the old. Mutants of other builds have none.
std::vector<mutant_record> updated(const std::vector<mutant_record>& known,
                                   const std::vector<mutant_report>& reports);

/// Makes the recorded runs alone, each with its mutant and each without one. Returns a sentence for each
/// mutant that its run does not find, each that has no record or is unknown, and each run that fails without
/// a mutant.
std::vector<std::string> check_records(const std::vector<mutant_record>& records, std::uint32_t jobs,
                                       bool progress);

/// The sentences about trials of one run each.
std::vector<std::string> judge(const std::vector<mutant_trial>& trials,
                               const std::vector<trial_result>& results);

/// Returns a table, or JSON with one object per mutant.
std::string to_table(const std::vector<mutant_report>& reports);
std::string to_json(const std::vector<mutant_report>& reports);

}  // namespace scoll::sim
