// Checks that the README's table of limits agrees with the headers and the options.
#include "scoll/collective/limits.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/bulk/piece_window.hpp"
#include "scoll/bulk/pieces.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/outcome_builder.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/settings.hpp"
#include "scoll/tree/greedy.hpp"
#include "scoll/tree/zoned.hpp"
#include "tests/catch.hpp"
#include "tests/support/tests_folder.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/limits.hpp"

using namespace scoll;

namespace {

/// Turns 4096 into "4,096".
std::string with_commas(std::uint64_t value) {
  std::string text = std::to_string(value);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

/// Returns the constants that the table names, in the table's format.
std::map<std::string, std::string> constants() {
  const auto collective = static_cast<std::size_t>(transport::traffic_class::collective);
  return {
      {"max_request_bytes", with_commas(max_request_bytes)},
      {"max_collective_bytes", with_commas(max_collective_bytes)},
      {"max_reply_bytes", with_commas(max_reply_bytes)},
      {"default_reply_capacity", with_commas(default_reply_capacity)},
      {"max_members", with_commas(max_members)},
      {"max_pulled_membership_bytes", with_commas(scoll::detail::max_pulled_membership_bytes)},
      {"max_mapped_groups", with_commas(scoll::detail::max_mapped_groups)},
      {"most_bulk_bytes", with_commas(most_bulk_bytes)},
      {"most_bulk_pieces", with_commas(most_bulk_pieces)},
      {"most_bulk_piece_bytes", with_commas(most_bulk_piece_bytes)},
      {"bulk_window", with_commas(scoll::detail::piece_window::most_slots)},
      {"parked_per_peer", with_commas(transport::limits::parked_per_peer)},
      {"greedy::max_members", with_commas(greedy::max_members)},
      {"zoned::max_members", with_commas(zoned::max_members)},
      {"endpoint_options::window", with_commas(transport::endpoint_options{}.window[collective])},
      {"outcome_builder::max_causes", with_commas(scoll::detail::outcome_builder::max_causes)},
      {"error::text_capacity", with_commas(error::text_capacity)},
  };
}

/// Formats the default of an option as the table shows it: "4,096", or "64 MiB" for "64MiB".
std::string shown(const std::string& built_in) {
  const auto unit = std::find_if_not(built_in.begin(), built_in.end(),
                                     [](unsigned char c) { return std::isdigit(c) != 0; });
  const std::string number = with_commas(std::stoull(std::string(built_in.begin(), unit)));
  return unit == built_in.end() ? number : number + " " + std::string(unit, built_in.end());
}

/// Returns the constants and the options of the settings.
std::map<std::string, std::string> limits_in_headers() {
  auto all = constants();
  for (const setting& s : settings{}.list()) {
    if (!s.fallback.empty() && std::isdigit(static_cast<unsigned char>(s.fallback.front())) != 0)
      all.emplace(s.name, shown(s.fallback));
  }
  return all;
}

std::vector<std::string> cells(const std::string& row) {
  std::vector<std::string> found;
  std::istringstream in(row.substr(1));
  for (std::string cell; std::getline(in, cell, '|');) found.push_back(cell);
  return found;
}

/// Returns the texts between backticks.
std::vector<std::string> names(const std::string& cell) {
  std::vector<std::string> found;
  std::istringstream in(cell);
  std::string text;
  for (bool code = false; std::getline(in, text, '`'); code = !code) {
    if (code) found.push_back(text);
  }
  return found;
}

/// Returns the rows of the table "Limits", without its head.
std::vector<std::string> rows() {
  const auto readme = test::tests_folder().parent_path() / "README.md";
  std::ifstream in(readme);
  std::vector<std::string> found;
  bool inside = false;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("## ")) inside = line == "## Limits";
    if (inside && line.starts_with("| ")) found.push_back(line);
  }
  REQUIRE(found.size() > 1);
  CHECK(cells(found.front()).at(2) == " where ");
  found.erase(found.begin());
  return found;
}

}  // namespace

TEST_CASE("the README's limits are those of the headers") {
  const auto known = limits_in_headers();
  std::set<std::string> named;
  for (const std::string& row : rows()) {
    INFO("README.md: " << row);
    const auto columns = cells(row);
    REQUIRE(columns.size() == 4);
    const auto where = names(columns[2]);
    CHECK_FALSE(where.empty());  // every limit names its place
    for (const std::string& name : where) {
      INFO(name);
      const auto limit = known.find(name);
      REQUIRE(limit != known.end());
      CHECK((columns[1] + " ").find(" " + limit->second) != std::string::npos);
      named.insert(name);
    }
  }
  for (const auto& [name, value] : constants()) {
    INFO("the table does not name " << name << ", which is " << value);
    CHECK(named.count(name) == 1);
  }
}
