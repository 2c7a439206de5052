#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/scoll-sim/batch.hpp"

namespace scoll::sim {

void print_summary(const run_report& sum, std::uint64_t seeds, double seconds, double cpu_seconds);
void print_json(const batch_report& b, double seconds);
/// Appends a row to the file that says which runs of which commit held: docs/seeds.csv.
void log_batch(const std::string& file, std::string_view commit, const batch_options& ran,
               const batch_report& b);
/// Prints in how many runs each thing was seen to happen.
void print_coverage(const coverage& seen, std::uint64_t runs);
/// Prints the violations, how to see them again, and the commit of this program. True if there are none.
bool print_findings(const run_report& r, const std::string& reproduce, std::string_view commit);

}  // namespace scoll::sim
