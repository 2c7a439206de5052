#pragma once

#include <string>
#include <vector>

#include "gossip_study.hpp"

namespace scoll::sim {

/// A case and what came out, as lines of two files.
struct study_row {
  std::string csv;   ///< one line, without its end
  std::string ages;  ///< a line for each age that was seen, with their ends
};

std::string study_csv_heading();
std::string study_ages_heading();
study_row row_of(const study_case& c, const study_result& r);

/// "scenario,rule,nodes,loss,interval_ms": what a line of the CSV begins with, and no other does.
std::string key_of(const study_case& c);
/// "scenario,rule,nodes,loss": the same for lines of ages.
std::string ages_key_of(const study_case& c);

/// Of a line of the CSV that is complete: the figures that `--json` has.
std::string json_of(const std::string& csv_line);

/// How many fields a line has.
std::size_t fields_in(const std::string& csv_line);

/// For a person.
std::string study_table_heading();
std::string study_table_line(const std::string& csv_line);

}  // namespace scoll::sim
