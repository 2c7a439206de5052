#pragma once

#include <cstdint>
#include <string>

#include "tools/scoll-sim/batch.hpp"

namespace scoll::sim {

/// The commit from which this program was built.
const char* built_from() noexcept;

void print_summary(const run_report& sum, std::uint64_t seeds, double seconds, double cpu_seconds);
void print_json(const batch_report& b, double seconds);
/// Prints in how many runs each thing was seen to happen.
void print_coverage(const coverage& seen, std::uint64_t runs);
/// Prints the violations, and how to see them again. True if there are none.
bool print_findings(const run_report& r, const std::string& reproduce);

}  // namespace scoll::sim
