#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"
#include "tests/support/tests_folder.hpp"

using namespace scoll::test;

namespace {

namespace fs = std::filesystem;

/// The files of one test, which are removed with it.
struct folder {
  folder() : path(fs::temp_directory_path() / ("scoll-study-" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~folder() { fs::remove_all(path); }
  std::string file(const char* name) const { return (path / name).string(); }
  fs::path path;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// The row of a rule; one stands on each line.
std::string row_of(const std::string& json, const std::string& rule) {
  for (const std::string& line : lines_of(json)) {
    if (line.find("\"rule\":\"" + rule + "\"") != std::string::npos) return line;
  }
  FAIL("no row of " << rule << " in " << json);
  return {};
}

double figure(const std::string& row, const std::string& key) {
  const std::size_t at = row.find("\"" + key + "\":");
  INFO(key << " of " << row);
  REQUIRE(at != std::string::npos);
  return std::stod(row.substr(at + key.size() + 3));
}

std::vector<std::string> study(const folder& into, const char* nodes, const char* pairs) {
  return {"--gossip-study",
          "--nodes",
          nodes,
          "--loss",
          "0.05",
          "--interval-ms",
          "200",
          "--pairs",
          pairs,
          "--json",
          into.file("rows.json"),
          "--study-csv",
          into.file("rows.csv"),
          "--quiet"};
}

/// A field of the first row, by the name of its column.
double first_of(const std::string& csv, const std::string& column) {
  const auto lines = lines_of(csv);
  REQUIRE(lines.size() > 1);
  std::istringstream names(lines[0]), values(lines[1]);
  for (std::string name, value; std::getline(names, name, ',') && std::getline(values, value, ',');) {
    if (name == column) return std::stod(value);
  }
  FAIL("no column " << column);
  return 0;
}

}  // namespace

TEST_CASE("a study of the gossip has a row for each rule, and they differ as they should") {
  const folder f;
  const answer a = scoll_sim(study(f, "16", slow_build ? "2e5" : "2e6"));
  INFO(a.text);
  REQUIRE(a.status == 0);
  const std::string json = text_of(f.file("rows.json"));
  for (const char* rule : {"guarded", "relative", "source"}) {
    const std::string row = row_of(json, rule);
    INFO(row);
    REQUIRE(figure(row, "nodes") == 16);
    REQUIRE(figure(row, "loss") == 0.05);
    const double threshold = figure(row, "threshold_cycles");
    const double first = figure(row, "detect_first_cycles"), last = figure(row, "detect_last_cycles_max");
    const double spread = figure(row, "detect_spread_cycles_p99");
    REQUIRE(first < last);
    REQUIRE(spread < last);
    REQUIRE(spread > 0);
    REQUIRE(last < threshold + 4);
    REQUIRE(last > threshold - 2);
    REQUIRE(std::count(row.begin(), row.end(), ':') == 8);
  }
  const std::string ours = row_of(json, "guarded"), source = row_of(json, "source");
  REQUIRE(figure(ours, "threshold_cycles") == 11);
  REQUIRE(figure(source, "threshold_cycles") == 4);
  REQUIRE(figure(row_of(json, "relative"), "threshold_cycles") > 11);
  REQUIRE(figure(ours, "detect_first_cycles") > 9);
  REQUIRE(figure(ours, "false_verdicts_per_year") < 1);
  REQUIRE(figure(source, "false_verdicts_per_year") > 1e9);
}

// With SCOLL_STUDY_PAIRS the test looks at as many pairs as that says; `./dev check` sets more than 1e9.
TEST_CASE("a thousand participants reach the goal of the gossip") {
  if (slow_build) return;
  const char* const more = std::getenv("SCOLL_STUDY_PAIRS");
  const char* const pairs = more != nullptr ? more : "1e8";
  const folder f;
  const answer a = scoll_sim(study(f, "1024", pairs));
  INFO(a.text);
  REQUIRE(a.status == 0);
  const std::string row = row_of(text_of(f.file("rows.json")), "guarded");
  INFO(row);
  REQUIRE(first_of(text_of(f.file("rows.csv")), "pair_cycles") > 0.9 * std::stod(pairs));
  REQUIRE(first_of(text_of(f.file("rows.csv")), "undetected") == 0);
  REQUIRE(figure(row, "detect_last_cycles_max") <= 16);
  REQUIRE(figure(row, "detect_spread_cycles_p99") <= 2.5);
  REQUIRE(figure(row, "false_verdicts_per_year") <= 1);
}

TEST_CASE("a study that was stopped goes on where it was") {
  const folder f;
  const std::vector<std::string> arguments = study(f, "8", "1e4");
  REQUIRE(scoll_sim(arguments).status == 0);
  const std::string csv = f.file("rows.csv"), ages = f.file("rows-ages.csv");
  const std::string whole_ages = text_of(ages);
  std::vector<std::string> rows = lines_of(text_of(csv));
  REQUIRE(rows.size() == 4);
  // The second was found first, the first was being written, the third is missing.
  const std::string kept = rows[2] + "5";
  std::ofstream(csv) << rows[0] << '\n' << kept << '\n' << rows[1];
  std::vector<std::string> resumed = arguments;
  resumed.push_back("--resume");
  REQUIRE(scoll_sim(resumed).status == 0);
  const std::vector<std::string> now = lines_of(text_of(csv));
  REQUIRE(now.size() == 4);
  REQUIRE(now[2] == kept);
  for (const std::size_t i : {std::size_t{1}, std::size_t{3}}) {
    const std::size_t seconds = rows[i].rfind(',');
    REQUIRE(now[i].substr(0, now[i].rfind(',')) == rows[i].substr(0, seconds));
  }
  REQUIRE(text_of(ages) == whole_ages);
}

TEST_CASE("the published rows are those of the study, in its order") {
  const answer a = scoll_sim({"--gossip-study", "--all", "--list"});
  REQUIRE(a.status == 0);
  const std::vector<std::string> planned = lines_of(a.text);
  std::vector<std::string> published =
      lines_of(text_of(scoll::test::tests_folder().parent_path() / "docs/gossip.csv"));
  REQUIRE(published.size() == planned.size() + 1);
  for (std::size_t i = 0; i < planned.size(); ++i) {
    INFO(published[i + 1] << " for " << planned[i]);
    REQUIRE(published[i + 1].starts_with(planned[i] + ","));
  }
}
