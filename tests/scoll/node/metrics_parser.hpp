#pragma once

#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "tests/catch.hpp"

namespace scoll::test {

/// Parses Prometheus' text format, and requires that every line is valid, that a metric is described once and
/// before its samples, and that no series stands twice. Gives the values of all series.
inline std::map<std::string, double> parse_metrics(const std::string& text) {
  static const std::regex comment(R"(# (HELP|TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+))");
  static const std::regex sample(
      R"re(([a-zA-Z_:][a-zA-Z0-9_:]*)((?:\{[a-z_]+="(?:[^"\\\n]|\\["\\n])*"(?:,[a-z_]+="(?:[^"\\\n]|\\["\\n])*")*\})?) (\S+))re");
  std::map<std::string, double> series;
  std::set<std::string> helped;
  std::map<std::string, std::string> types;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    INFO(line);
    std::smatch m;
    if (line == "# EOF") continue;
    if (std::regex_match(line, m, comment)) {
      const std::string name = m[2];
      if (m[1] == "HELP") {
        REQUIRE(helped.insert(name).second);
        continue;
      }
      REQUIRE(helped.contains(name));
      REQUIRE(types.emplace(name, m[3]).second);
      REQUIRE((m[3] == "counter" || m[3] == "gauge" || m[3] == "histogram"));
      continue;
    }
    REQUIRE(std::regex_match(line, m, sample));
    std::string of = m[1];
    for (const char* part : {"_bucket", "_sum", "_count"}) {
      const std::string whole = of.ends_with(part) ? of.substr(0, of.size() - std::string(part).size()) : "";
      if (types.contains(whole) && types[whole] == "histogram") of = whole;
    }
    REQUIRE(types.contains(of));
    if (types[of] == "counter") REQUIRE(of.ends_with("_total"));
    std::size_t read = 0;
    const double value = std::stod(m[3], &read);
    REQUIRE(read == m[3].str().size());
    REQUIRE(series.emplace(m[1].str() + m[2].str(), value).second);
  }
  return series;
}

}  // namespace scoll::test
