#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "contest.hpp"

namespace bench {

/// A row of the JSON file; its fields keep their order. docs/performance.md explains each field.
using row = nlohmann::ordered_json;
using rows = std::vector<row>;

/// Rounds to a thousandth, as all figures of rows are.
double rounded(double value);

/// Adds latency and resource usage per operation: `p50_us`, `p99_us`, `max_us`, `cpu_us_per_op`,
/// `instructions_per_op` (if counted), `wakeups_per_op`.
void add_score(row& to, const score& s);
/// Adds `against` and the ratios to another subject of the same contest, each with its interval (`p50_ratio`,
/// `p50_ratio_low`, `p50_ratio_high`, and so on with `cpu_` and, if counted, `instructions_`).
void add_ratios(row& to, const score& s, const score& against);
/// Adds the ratio of the slowest hundredth in the same way (`p99_ratio` and so on).
void add_tail_ratio(row& to, const score& s, const score& against);

/// A column of a table for people: the field, its heading, and the digits after the point.
struct column {
  std::string field;
  std::string heading;
  int digits = 1;
  int width = 10;
};
/// Prints a table like the OSU benchmarks: a heading that begins with #, then a line per row.
void print_table(const std::string& title, std::span<const column> columns, const rows& of);
/// Prints the machine and everything else that influences the figures, as comment lines.
void print_machine(const std::string& congestion_control);

/// Throws if the file cannot be written; creates an empty file if there was none.
void ensure_writable(const std::string& file);
void write_json(const std::string& file, const rows& all);

}  // namespace bench
