#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/plan/plan.hpp"

namespace scoll::sim {

/// The run that last found a mutant: a row of docs/mutants.csv.
struct mutant_record {
  std::string mutant;
  plan_options run;      ///< always with the swarm of faults, which the file therefore does not name
  std::string property;  ///< the property that did not hold, or how the process died
};

/// Reads rows `mutant,workload,nodes,seed,property` below a heading that says so. Throws
/// `std::runtime_error` with the line's number, also if a mutant has two rows.
std::vector<mutant_record> parse_mutant_records(std::string_view csv);
std::string to_csv(const std::vector<mutant_record>& records);

/// Returns null if the mutant has no row.
const mutant_record* find_record(const std::vector<mutant_record>& records, std::string_view mutant);

}  // namespace scoll::sim
