#pragma once

#include <string>
#include <vector>

#include "tools/scoll-sim/study/gossip_study.hpp"

namespace scoll::sim {

/// A case and its results, as lines of two files.
struct study_row {
  std::string csv;   ///< one line, without its end
  std::string ages;  ///< a line for each age that was seen, with line ends
};

std::string study_csv_heading();
std::string study_ages_heading();
study_row row_of(const study_case& c, const study_result& r);

/// "scenario,rule,nodes,loss,interval_ms": the first fields of a line of the CSV, which identify it.
std::string key_of(const study_case& c);
/// "scenario,rule,nodes,loss": the same for lines of ages.
std::string ages_key_of(const study_case& c);

/// Converts a complete line of the CSV into the figures for `--json`.
std::string json_of(const std::string& csv_line);

/// Returns the number of fields of a line.
std::size_t fields_in(const std::string& csv_line);

/// Formats a row for people.
std::string study_table_heading();
std::string study_table_line(const std::string& csv_line);

}  // namespace scoll::sim
