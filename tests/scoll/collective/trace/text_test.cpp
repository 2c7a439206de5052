#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "scoll/collective/trace.hpp"
#include "scoll/tree/chain.hpp"
#include "tests/catch.hpp"

// Traces as text and as events for a viewer.
using namespace scoll;
using namespace std::chrono_literals;

namespace {

trace_span span_of(std::uint32_t rank, nanoseconds arrived, nanoseconds answered) {
  trace_span s;
  s.rank = rank;
  s.node = rank + 1;
  s.arrived = arrived;
  s.prepared = arrived + 2us;
  s.begun = arrived + 3us;
  s.ended = arrived + 5us;
  s.answered = answered;
  return s;
}

/// Four members in a chain: the third has dropped its stamps, and the last has none either.
collective_trace small_trace() {
  trace_span root = span_of(0, 0us, 100us);
  root.children = {{1, 2, 4us, 98us}};
  trace_span second = span_of(1, 10us, 92us);
  second.parent = 0;
  second.level = 1;
  second.error = 6us;
  second.children = {{2, 3, 12us, 90us}};
  return {4, chain{}, {root, second}, 2};
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

collective_trace deep_trace(std::uint32_t members) {
  std::vector<trace_span> spans;
  for (std::uint32_t i = 0; i < members; ++i) {
    trace_span s = span_of(i, i * 10us, 1h - i * 10us);
    s.node = UINT64_MAX - i;
    s.level = i;
    if (i != 0) s.parent = i - 1;
    spans.push_back(s);
  }
  return {members, chain{}, spans, 0};
}

}  // namespace

TEST_CASE("a trace without spans says so", "[trace]") {
  const collective_trace none;
  CHECK(none.empty());
  CHECK(none.took() == 0ns);
  CHECK(none.last() == last_arrival{});
  CHECK(to_text(none) == "no trace\n");
  CHECK(nlohmann::json::parse(to_chrome_json(none))["traceEvents"].empty());
}

TEST_CASE("a trace knows the last arrival and finds members", "[trace]") {
  const collective_trace t = small_trace();
  CHECK(t.took() == 100us);
  CHECK(t.last() == last_arrival{1, 10us, 6us});
  CHECK(t.find(1)->error == 6us);
  CHECK(t.find(2) == nullptr);
}

TEST_CASE("the text of a trace is a table with bars", "[trace]") {
  const auto lines = lines_of(to_text(small_trace()));
  REQUIRE(lines.size() == 6);
  CHECK(lines[0] == "4 members over chain in 100.0 us; rank 1 had the request last, at 10.0 +- 6.0");
  CHECK(lines[1] == "the stamps of 2 members found no room in the answers");
  CHECK(lines[2].starts_with("rank node     at/us       +-      took |p prepares"));
  CHECK(lines[3].starts_with("0       1       0.0      0.0     100.0 |p=="));
  CHECK(lines[4].starts_with(" 1      2      10.0      6.0      82.0 |     "));
  CHECK(lines[5] == "  2     3      12.0                     answered at 90.0, without stamps");
  for (const std::string& line : lines) CHECK(line.size() <= 100);
  CHECK(lines[3].size() == 100);
  CHECK(std::ranges::count(lines[3], '=') < std::ranges::count(lines[3], '.'));
}

TEST_CASE("long times, large ids and deep trees stay within 100 columns", "[trace]") {
  const auto lines = lines_of(to_text(deep_trace(200)));
  REQUIRE(lines.size() == 202);
  for (const std::string& line : lines) {
    INFO(line);
    CHECK(line.size() <= 100);
  }
  CHECK(lines.back().starts_with("        +199"));
  CHECK(lines[0].find("3600.000 s") != std::string::npos);
}

TEST_CASE("the events of a trace are sorted and lie within each other", "[trace]") {
  const auto all = nlohmann::json::parse(to_chrome_json(small_trace()));
  CHECK(all["otherData"]["dropped"] == 2);
  CHECK(all["otherData"]["tree"] == "chain");
  double latest = 0;
  std::size_t named = 0;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::vector<std::pair<double, double>>> open;
  for (const auto& e : all["traceEvents"]) {
    if (e["ph"] == "M") {
      ++named;
      continue;
    }
    REQUIRE(e["ph"] == "X");
    const double from = e["ts"], to = from + e["dur"].get<double>();
    CHECK(from >= latest);
    latest = from;
    auto& outer = open[{e["pid"].get<std::uint64_t>(), e["tid"].get<std::uint32_t>()}];
    CHECK(outer.empty() == (e["name"] == "broadcast"));
    while (!outer.empty() && outer.back().second <= from) outer.pop_back();
    if (!outer.empty()) CHECK(to <= outer.back().second);
    outer.emplace_back(from, to);
  }
  CHECK(named == 4);
  CHECK(open.size() == 2);
  CHECK(open.contains({2, 1}));
}
