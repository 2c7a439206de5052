#include "tools/scoll-sim/study/gossip_study_rows.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {
namespace {

constexpr std::string_view key_columns = "scenario,rule,nodes,loss,interval_ms";
constexpr std::string_view figure_columns =
    "threshold_cycles,pair_cycles,highest_age,share_above_threshold,false_verdicts_per_year,low,high,"
    "tail_decay,tail_from,odd_per_year,detect_first_cycles,detect_last_cycles_mean,detect_last_cycles_max,"
    "detect_spread_cycles_p99,undetected,clock_rate,clock_spread_p50,clock_spread_max,late_share_over_2,"
    "latest,pings_per_cycle,entries_per_reply,seconds";
constexpr std::size_t late = 2;  // cycles behind the receiver's clock

std::string figures(const study_result& r) {
  double late_ones = 0, arrived = 0;
  std::size_t latest = 0;
  for (std::size_t i = 0; i < r.lateness.size(); ++i) {
    arrived += static_cast<double>(r.lateness[i]);
    if (i > late) late_ones += static_cast<double>(r.lateness[i]);
    if (r.lateness[i] != 0) latest = i;
  }
  std::string text = fmt::format("{},{:.4g},{},{:.4g},{:.4g},{:.4g},{:.4g},{:.4g},{},{:.4g},", r.threshold,
                                 r.pair_cycles, r.highest_age, r.false_share, r.fit.per_year, r.fit.low,
                                 r.fit.high, r.fit.decay, r.fit.begins_at, r.odd_fit.per_year);
  text += fmt::format("{:.3f},{:.3f},{:.3f},{:.3f},{},{:.4f},{},{},", r.detect_first, r.detect_last_mean,
                      r.detect_last_max, r.spread_p99, r.undetected, r.clock_rate, r.clock_spread_p50,
                      r.clock_spread_max);
  return text + fmt::format("{:.3g},{},{:.4f},{:.4f},{:.1f}", late_ones / std::max(arrived, 1.0), latest,
                            r.pings_per_cycle, r.entries_per_reply, r.seconds);
}

std::string age_lines(const study_case& c, const study_result& r) {
  std::string text;
  double above = r.pair_cycles;
  for (std::size_t age = 0; age <= r.highest_age; ++age) {
    above -= static_cast<double>(r.ages[age]);
    if (above < 1) break;
    text += fmt::format("{},{},{:.4g}\n", ages_key_of(c), age, above / r.pair_cycles);
  }
  return text;
}

std::vector<std::string> split(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, ',');) fields.push_back(field);
  return fields;
}

/// The field of a column, by its name.
std::string field(const std::vector<std::string>& fields, std::string_view column) {
  static const std::vector<std::string> columns = split(study_csv_heading());
  const auto found = std::find(columns.begin(), columns.end(), column);
  return fields.at(static_cast<std::size_t>(found - columns.begin()));
}

}  // namespace

std::string study_csv_heading() {
  return fmt::format("{},{}", key_columns, figure_columns);
}

std::string study_ages_heading() {
  return "scenario,rule,nodes,loss,age,share_above";
}

std::string ages_key_of(const study_case& c) {
  return fmt::format("{},{},{},{}", c.scenario, c.rule, c.nodes, c.loss);
}

std::string key_of(const study_case& c) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(c.interval).count();
  return fmt::format("{},{}", ages_key_of(c), ms);
}

study_row row_of(const study_case& c, const study_result& r) {
  return {fmt::format("{},{}", key_of(c), figures(r)), age_lines(c, r)};
}

std::size_t fields_in(const std::string& csv_line) {
  return split(csv_line).size();
}

std::string json_of(const std::string& csv_line) {
  const std::vector<std::string> fields = split(csv_line);
  std::string text;
  for (const char* const column :
       {"nodes", "loss", "rule", "threshold_cycles", "detect_first_cycles", "detect_last_cycles_max",
        "detect_spread_cycles_p99", "false_verdicts_per_year"}) {
    const std::string quote = column == std::string_view("rule") ? "\"" : "";
    text +=
        fmt::format("{}\"{}\":{}{}{}", text.empty() ? "{" : ",", column, quote, field(fields, column), quote);
  }
  return text + "}";
}

std::string study_table_heading() {
  return fmt::format(
      "{:<15} {:<24} {:>6} {:>5} {:>3} {:>9} {:>4} {:>9} {:>9} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
      "scenario", "rule", "nodes", "loss", "T", "pairs", "max", "false/yr", "low", "high", "first", "last",
      "spread", "clock", "pings");
}

std::string study_table_line(const std::string& csv_line) {
  const std::vector<std::string> f = split(csv_line);
  return fmt::format(
      "{:<15} {:<24} {:>6} {:>5} {:>3} {:>9} {:>4} {:>9} {:>9} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
      field(f, "scenario"), field(f, "rule"), field(f, "nodes"), field(f, "loss"),
      field(f, "threshold_cycles"), field(f, "pair_cycles"), field(f, "highest_age"),
      field(f, "false_verdicts_per_year"), field(f, "low"), field(f, "high"), field(f, "detect_first_cycles"),
      field(f, "detect_last_cycles_max"), field(f, "detect_spread_cycles_p99"), field(f, "clock_rate"),
      field(f, "pings_per_cycle"));
}

}  // namespace scoll::sim
