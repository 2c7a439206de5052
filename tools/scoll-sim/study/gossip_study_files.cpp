#include "tools/scoll-sim/study/gossip_study_files.hpp"

#include <algorithm>
#include <stdexcept>

namespace scoll::sim {
namespace {

std::ofstream opened(const std::string& name) {
  std::ofstream out(name);
  if (!out) throw std::runtime_error("cannot write " + name);
  return out;
}

void flush(std::ofstream& out, const std::string& name) {
  if (!out.flush()) throw std::runtime_error("cannot write " + name);
}

std::string ages_of(const std::string& csv) {
  const std::size_t ending = std::min(csv.rfind('.'), csv.size());
  return csv.substr(0, ending) + "-ages" + csv.substr(ending);
}

/// Reads the rows that were written completely. There are none if the file does not exist or has other
/// columns.
std::vector<std::string> lines_of(const std::string& name, const std::string& heading) {
  std::ifstream in(name);
  std::string line;
  if (!std::getline(in, line) || line != heading) return {};
  std::vector<std::string> lines;
  while (std::getline(in, line) && !in.eof()) {
    if (fields_in(line) == fields_in(heading)) lines.push_back(line);
  }
  return lines;
}

}  // namespace

gossip_study_files::gossip_study_files(const std::string& name, const std::vector<study_case>& plan,
                                       bool resume)
    : csv_name_(name), ages_name_(name.empty() ? "" : ages_of(name)) {
  if (name.empty()) return;
  if (resume) read(plan);
  begin();
  for (const auto& [key, row] : found_) add(row);
}

/// Ages are written before their row, so where there is a row, its ages are complete.
void gossip_study_files::read(const std::vector<study_case>& plan) {
  const auto rows = lines_of(csv_name_, study_csv_heading());
  const auto ages = lines_of(ages_name_, study_ages_heading());
  for (const study_case& c : plan) {
    const auto row = std::find_if(rows.begin(), rows.end(),
                                  [&](const std::string& r) { return r.starts_with(key_of(c) + ","); });
    if (row == rows.end()) continue;
    study_row& kept = found_[key_of(c)];
    kept.csv = *row;
    for (const std::string& line : ages) {
      if (line.starts_with(ages_key_of(c) + ",")) kept.ages += line + "\n";
    }
  }
}

void gossip_study_files::begin() {
  csv_ = opened(csv_name_);
  ages_ = opened(ages_name_);
  csv_ << study_csv_heading() << '\n';
  ages_ << study_ages_heading() << '\n';
}

const study_row* gossip_study_files::found(const study_case& c) const {
  const auto at = found_.find(key_of(c));
  return at == found_.end() ? nullptr : &at->second;
}

void gossip_study_files::add(const study_row& row) {
  if (csv_name_.empty()) return;
  ages_ << row.ages;
  flush(ages_, ages_name_);
  csv_ << row.csv << '\n';
  flush(csv_, csv_name_);
}

void gossip_study_files::put_in_order(const std::vector<study_row>& rows) {
  if (csv_name_.empty()) return;
  begin();
  for (const study_row& row : rows) add(row);
}

}  // namespace scoll::sim
