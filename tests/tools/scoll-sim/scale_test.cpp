#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "program.hpp"
#include "tests/support/build.hpp"
#include "tools/scoll-sim/scale/bulk_scale.hpp"

using namespace scoll::test;

namespace {

struct figures {
  std::uint64_t nodes, reached, predicted_reached, merged, predicted_merged, first_merged, messages, events;
};

/// One row per line that the program prints.
std::vector<figures> scale(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--json", "--quiet"});
  const answer a = scoll_sim(arguments);
  INFO(a.text);
  REQUIRE(a.status == 0);
  std::vector<figures> found;
  std::istringstream lines(a.text);
  for (std::string line; std::getline(lines, line);) {
    REQUIRE(line.find("\"ok\":true") != std::string::npos);
    found.push_back({number_in(line, "nodes"), number_in(line, "reached_ns"),
                     number_in(line, "predicted_reached_ns"), number_in(line, "merged_ns"),
                     number_in(line, "predicted_merged_ns"), number_in(line, "first_merged_ns"),
                     number_in(line, "messages"), number_in(line, "events")});
  }
  return found;
}

const std::string some = slow_build ? "200" : "1000";

}  // namespace

TEST_CASE("a broadcast in virtual time takes what the model says, down every tree") {
  const auto found = scale({"--scale", some + ",257"});
  REQUIRE(found.size() == 10);  // k-ary, k-nomial, greedy, flat and chain at each size
  for (const figures& f : found) {
    INFO(f.nodes << " nodes, model " << f.predicted_reached << ", " << f.predicted_merged);
    REQUIRE(f.messages == 2 * (f.nodes - 1));
    REQUIRE(f.reached >= f.predicted_reached * 99 / 100);
    REQUIRE(f.reached <= f.predicted_reached * 101 / 100);
    REQUIRE(f.merged >= f.predicted_merged * 95 / 100);
    REQUIRE(f.merged <= f.predicted_merged * 105 / 100);
    REQUIRE(f.first_merged > f.merged);
    REQUIRE(f.events < 50 * f.nodes);  // also where thousands wait for one host
  }
}

TEST_CASE("the time of a broadcast grows with the logarithm of the cluster") {
  const auto found = scale(
      {"--scale", "64,512,4096", "--tree", "knomial:8", "--tree", "kary:8", "--tree", "greedy:120,10,10"});
  REQUIRE(found.size() == 9);
  for (std::size_t tree = 0; tree < 3; ++tree) {
    const std::uint64_t small = found[tree].merged, middle = found[tree + 3].merged,
                        large = found[tree + 6].merged;
    INFO(small << " " << middle << " " << large);
    // Eight times as many nodes make one more level, so each step adds the same time, however large the
    // cluster is.
    REQUIRE(middle > small);
    REQUIRE(large > middle);
    REQUIRE(large - middle < 2 * (middle - small));
    REQUIRE(large < 3 * small);
  }
  const auto flat = scale({"--scale", "64,512", "--tree", "flat"});
  REQUIRE(flat[1].merged > 6 * flat[0].merged);
}

TEST_CASE("any number of nodes works, and other wires") {
  for (const char* nodes : {"2", "3", "4097"}) {
    if (slow_build && std::string(nodes) == "4097") continue;
    const auto found = scale({"--scale", nodes, "--tree", "knomial:3", "--latency-ns", "1500",
                              "--overhead-ns", "400", "--gap-ns", "700", "--ps-per-byte", "300"});
    REQUIRE(found.size() == 1);
    REQUIRE(found[0].merged >= found[0].predicted_merged * 95 / 100);
    REQUIRE(found[0].merged <= found[0].predicted_merged * 105 / 100);
  }
}

TEST_CASE("bulk data take about what the model predicts, and no plan is faster than any can be") {
  // The program fails if a time is not within its plan's percentage of the model, or below what is possible.
  const std::string nodes = slow_build     ? "2,5,9"
                            : long_tests() ? "2,3,5,8,12,13,17,32,33,48,64,127,128"
                                           : "2,3,5,8,12,13,17,32,33,48";
  const std::string pieces = "1,2,4,7,8,16,64";
  const answer a = scoll_sim({"--scale", nodes, "--bulk", "--bulk-pieces", pieces, "--json"});
  INFO(a.text);
  CHECK(a.status == 0);
  std::istringstream lines(a.text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    INFO(line);
    const std::uint64_t bound = number_in(line, "bound_ns");
    CHECK(number_in(line, "measured_ns") >= bound);
    CHECK(number_in(line, "predicted_ns") >= bound);
  }
  const auto sizes = static_cast<std::size_t>(std::ranges::count(nodes, ',')) + 1;
  CHECK(rows == sizes * 8 * 7);
}

TEST_CASE("whole objects and chains are held to ten percent of what is predicted, and wide trees to eleven") {
  using scoll::bulk_plan;
  for (const std::uint32_t pieces : {1U, 4U, 64U}) {
    CHECK(scoll::sim::bulk_tolerance_percent(bulk_plan::whole(), pieces) == 10);
    CHECK(scoll::sim::bulk_tolerance_percent(bulk_plan::chain(), pieces) == 10);
    CHECK(scoll::sim::bulk_tolerance_percent(bulk_plan::binary(), pieces) == 11);
  }
}

TEST_CASE("a revoke among real nodes takes what the model says, also if some are dead", "[revoke]") {
  const std::string sizes = slow_build ? "2,64" : "2,3,64,1024";
  const answer a = scoll_sim({"--scale", sizes, "--revoke", "--latency-ns", "5000", "--json", "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  std::istringstream lines(a.text);
  std::size_t rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) {
    INFO(line);
    CHECK(line.find("\"ok\":true") != std::string::npos);
    CHECK(number_in(line, "reach_o") == 7);
    CHECK(number_in(line, "last_o") >= number_in(line, "predicted_last_o"));  // of which it is the whole part
    CHECK(number_in(line, "notices") * 100 >= number_in(line, "predicted_notices") * 99);
    CHECK(number_in(line, "connecting_o") > number_in(line, "last_o"));
    const bool large = number_in(line, "nodes") == 1024;
    CHECK(number_in(line, "dead") == (large ? 16 : 0));
    if (!large) continue;
    CHECK(number_in(line, "last_o") < 39);
    CHECK(number_in(line, "dead_last_o") < 42);
    CHECK(number_in(line, "predicted_worst_o") <= 42);
  }
  CHECK(rows == (slow_build ? 2 : 4));
}

TEST_CASE("a revoke on wires that the model does not have is refused", "[revoke]") {
  for (const char* const wire : {"--jitter-ns", "--gap-ns", "--latency-ns"}) {
    const answer a = scoll_sim({"--scale", "10", "--revoke", wire, "1500"});
    INFO(wire << ": " << a.text);
    CHECK(a.status != 0);
    CHECK(a.text.find("overhead-ns") != std::string::npos);
  }
}

TEST_CASE("figures are written as CSV, a line per run") {
  const auto file =
      std::filesystem::temp_directory_path() / ("scoll-scale-" + std::to_string(getpid()) + ".csv");
  const answer a = scoll_sim({"--scale", "20,30", "--tree", "chain", "--csv", file.string(), "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  REQUIRE(a.text.find("events/s") != std::string::npos);
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  std::filesystem::remove(file);
  REQUIRE(lines.size() == 3);
  REQUIRE(lines[0].starts_with("nodes,tree,levels,"));
  REQUIRE(lines[1].starts_with("20,\"chain\",20,1,"));
  REQUIRE(lines[2].starts_with("30,\"chain\",30,1,"));
  const answer revoke = scoll_sim({"--scale", "20", "--revoke", "--csv", file.string(), "--quiet"});
  INFO(revoke.text);
  REQUIRE(revoke.status == 0);
  std::ifstream written(file);
  REQUIRE(std::getline(written, lines[0]));
  REQUIRE(std::getline(written, lines[1]));
  std::filesystem::remove(file);
  REQUIRE(std::count(lines[0].begin(), lines[0].end(), ',') ==
          std::count(lines[1].begin(), lines[1].end(), ','));
  REQUIRE(lines[1].starts_with("20,8,12,"));
}

TEST_CASE("sizes and trees that make no sense are refused") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--scale", "1"},
                                                    {"--scale", "2000000"},
                                                    {"--scale", "10", "--tree", "knomial:1"},
                                                    {"--scale", "10", "--tree", "oak"}}) {
    const answer a = scoll_sim(arguments);
    INFO(a.text);
    REQUIRE(a.status != 0);
    REQUIRE(a.text.size() > 10);
  }
}
