#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "program.hpp"
#include "tests/support/tests_folder.hpp"
#include "tools/scoll-sim/coverage.hpp"

using namespace scoll::test;

namespace {

namespace fs = std::filesystem;

fs::path folder() {
  return scoll::test::tests_folder() / "tools/scoll-sim";
}

}  // namespace

TEST_CASE("a thousand seeds hold, and everything that they may draw is seen to happen") {
  // Slow builds run only a few of them, which see less.
  const std::string seeds = slow_build ? "1..60" : "1..1000";
  const answer a =
      scoll_sim({"--seeds", seeds, "--nodes", "16", "--faults", "swarm", "--jobs", "2", "--json", "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  if (slow_build) return;
  REQUIRE(number_in(a.text, "gossip") >= 250);
  for (std::size_t m = 0; m < scoll::sim::marks; ++m) {
    const auto seen = static_cast<scoll::sim::mark>(m);
    if (is_of_clients(seen) || is_of_rails(seen) || is_of_devices(seen)) continue;
    if (is_of_failures(seen) || is_of_streams(seen)) continue;
    const std::string what(to_string(seen));
    INFO(what);
    REQUIRE(number_in(a.text, what.c_str()) > 0);
  }
}

namespace {

/// The marks of that kind are all seen in these seeds of a workload.
void all_are_seen(const std::string& workload, const std::string& seeds, bool (*is_of)(scoll::sim::mark)) {
  const answer a = scoll_sim({"--seeds", slow_build ? "1..8" : seeds, "--nodes", "16", "--workload", workload,
                              "--jobs", "2", "--json", "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  if (slow_build) return;
  for (std::size_t m = 0; m < scoll::sim::marks; ++m) {
    const auto seen = static_cast<scoll::sim::mark>(m);
    if (!is_of(seen)) continue;
    const std::string what(to_string(seen));
    INFO(what);
    REQUIRE(number_in(a.text, what.c_str()) > 0);
  }
}

}  // namespace

TEST_CASE("what clients may do is seen to happen") {
  all_are_seen("ship", "1..100", scoll::sim::is_of_clients);
}

TEST_CASE("what may happen to rails is seen to happen") {
  all_are_seen("rails", "1..200", scoll::sim::is_of_rails);
}

TEST_CASE("what may become of failures is seen to happen") {
  all_are_seen("failures", "1..100", scoll::sim::is_of_failures);
}

TEST_CASE("what may become of streams is seen to happen") {
  all_are_seen("streams", "1..100", scoll::sim::is_of_streams);
}

TEST_CASE("what may happen to RDMA devices is seen to happen") {
  all_are_seen("verbs", "1..40", scoll::sim::is_of_devices);
}

TEST_CASE("guards and outsiders are seen in every workload with nodes") {
  using scoll::sim::mark;
  for (const std::string work : {"plain", "ship", "bulk"}) {
    const std::string seeds = slow_build ? "1..8" : "1..400";
    const answer a =
        scoll_sim({"--seeds", seeds, "--nodes", "6", "--workload", work, "--jobs", "2", "--json", "--quiet"});
    INFO(work << '\n' << a.text);
    REQUIRE(a.status == 0);
    if (slow_build) continue;
    for (std::size_t m = static_cast<std::size_t>(mark::guarded);
         m <= static_cast<std::size_t>(mark::outsiders_crowded); ++m) {
      const std::string what(to_string(static_cast<mark>(m)));
      INFO(what);
      REQUIRE(number_in(a.text, what.c_str()) > 0);
    }
  }
}

TEST_CASE("shipped calls hold in a swarm of faults, and without") {
  const std::string seeds = slow_build ? "1..10" : "1..150";
  for (const std::string nodes : {"3", "8"}) {
    const answer a =
        scoll_sim({"--seeds", seeds, "--nodes", nodes, "--workload", "ship", "--jobs", "1", "--quiet"});
    INFO(a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("the gossip keeps what it promises among hosts and networks that do their worst") {
  struct variant {
    const char* nodes;
    const char* seeds;
  };
  for (const variant v :
       {variant{"16", "1..30"}, {"17", "1..20"}, {"5", "1..60"}, {"4", "1..150"}, {"3", "1..150"}}) {
    const char* const seeds = slow_build ? "1..4" : v.seeds;
    const answer a =
        scoll_sim({"--nodes", v.nodes, "--workload", "gossip", "--seeds", seeds, "--jobs", "1", "--quiet"});
    INFO(a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("gossip seeds that once failed hold") {
  struct found {
    const char* nodes;
    const char* seed;
    const char* what;
  };
  const found all[] = {
      {"16", "70",
       "a late message set the clock of who started, whose messages then looked old: a false death"},
      {"16", "196", "a late message set the clock back while starting: the dead looked alive"},
      {"16", "284", "two late messages did"},
      {"9", "90", "a late message was all that was heard while starting: the dead looked alive"},
      {"5", "328", "a threshold was raised in the moment in which somebody was called alive"},
      {"9", "88", "who had stood still until it died was taken for a quick restart, by the property"},
      {"64", "47",
       "the table of lives had been asked for before one of them was known: it never became alive"},
      {"3", "140",
       "all had started anew, and a late message was the only one that knew the time, for the property"},
      {"4", "142", "one that had been cut off told a quick restart that it was held dead, for the property"},
      {"9", "31", "a partition that ended let an isolated host hear others, in the simulated network"},
  };
  for (const found& f : all) {
    if (slow_build && f.nodes == std::string_view("64")) continue;
    const answer a = scoll_sim({"--nodes", f.nodes, "--seed", f.seed, "--workload", "gossip", "--quiet"});
    INFO(f.what << '\n' << a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("seeds that once failed hold") {
  struct found {
    const char* workload;
    const char* nodes;
    const char* seed;
    const char* what;
  };
  const found all[] = {
      {"bulk", "16", "1790", "credit had waited for a connection that nobody needed, for the property"},
      {"bulk", "16", "248",
       "a source waited for a reader whose request had never left, because it connected for too long"},
      {"rails", "2", "230", "bulk was given up while its connection stood, and its path was in doubt"},
      {"rails", "3", "170", "bulk waited for a path that did not connect, though another one did"},
      {"rails", "16", "371", "connections by worse paths kept a preferred one out"},
      {"rails", "16", "1234", "stripes ended, and connections that they had marked were counted as theirs"},
      {"rails", "16", "1425", "bulk waited by a path that only the peer could use, until its grace was over"},
      {"rails", "16", "1604", "a host stood still while two of three rails failed, for the property"},
      {"rails", "16", "1623", "a connection that took over by the same path had no time for its first frame"},
      {"rails", "16", "1932", "a rail had two names, and bulk was sent where no connection could be made"},
      {"verbs", "16", "10",
       "the two sides returned to RDMA one after the other, and rights were refused meanwhile"},
      {"rails", "16", "4974", "greetings of an outage arrived when it was over, and each counted as a death"},
      {"verbs", "16", "221", "a get was answered with rights by another path until it gave up"},
      {"verbs", "16", "230", "likewise, while connections of the first rail came back"},
      {"verbs", "16", "252", "likewise, while a device was opened again"},
      {"verbs", "16", "291", "a rail was dead because both peers that had been reached by it had lost it"},
      {"verbs", "16", "682", "connecting a queue pair of a device that had failed counted as a mistake"},
      {"verbs", "16", "3202", "a dead rail was tried by paths between rails of different kinds, in turn"},
      {"verbs", "16", "9304",
       "a path full of what had arrived did not take again what was missing, for ten seconds"},
      {"verbs", "16", "14163", "a link by RDMA was left, each second, for one that was there beside it"},
      {"verbs", "16", "16240",
       "bulk data tried paths that nobody had used before a good one that they had left"},
  };
  for (const found& f : all) {
    const answer a = scoll_sim({"--nodes", f.nodes, "--seed", f.seed, "--workload", f.workload, "--quiet"});
    INFO(f.what << '\n' << a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("a swarm has 200 broadcasts and 10 faults per seed, and two fifths of them end well") {
  const answer a = scoll_sim({"--seeds", "1..16", "--json", "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  REQUIRE(number_in(a.text, "broadcasts") >= 200 * 16);
  REQUIRE(number_in(a.text, "faults") >= 10 * 16);
  REQUIRE(5 * number_in(a.text, "clean") > 2 * number_in(a.text, "broadcasts"));
  for (const char* state : {"merged", "executed", "failed", "not_reached", "unknown"}) {
    INFO(state);
    REQUIRE(number_in(a.text, state) > 0);
  }
}

TEST_CASE("other sizes, workloads and fault profiles hold as well") {
  const std::string few = slow_build ? "1..4" : "1..40";
  const std::vector<std::vector<std::string>> variants{{"--nodes", "1"},
                                                       {"--nodes", "2"},
                                                       {"--nodes", "3"},
                                                       {"--nodes", "3", "--faults", "light"},
                                                       {"--nodes", "33", "--workload", "plain"},
                                                       {"--nodes", "2", "--workload", "failures"},
                                                       {"--nodes", "33", "--workload", "failures"},
                                                       {"--faults", "none"}};
  for (std::vector<std::string> variant : variants) {
    variant.insert(variant.end(), {"--seeds", few, "--jobs", "1", "--quiet"});
    const answer a = scoll_sim(variant);
    INFO(a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("clusters of more than 64 hosts hold as well") {
  const std::string most = long_tests() ? "256" : "129";  // which take a minute, and some seconds
  for (const std::string& nodes : {std::string("70"), most}) {
    const std::string seeds = nodes == "70" && !slow_build ? (long_tests() ? "1..12" : "1..2") : "1..1";
    const answer a = scoll_sim({"--seeds", seeds, "--nodes", nodes, "--jobs", "2", "--quiet"});
    INFO(a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("without faults a plain workload succeeds but for its deadlines") {
  const answer a =
      scoll_sim({"--seeds", "1..8", "--faults", "none", "--workload", "plain", "--json", "--quiet"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  REQUIRE(number_in(a.text, "failed") == 0);
  REQUIRE(number_in(a.text, "not_reached") == 0);
  REQUIRE(number_in(a.text, "unknown") == 0);
}

TEST_CASE("the same seed gives the same trace, twice and in ranges") {
  const answer once = scoll_sim({"--seed", "11", "--trace", "--quiet"});
  const answer again = scoll_sim({"--seed", "11", "--trace", "--quiet"});
  REQUIRE(once.status == 0);
  REQUIRE(once.text == again.text);
  const answer range = scoll_sim({"--seeds", "10..11", "--hashes", "--quiet"});
  const std::string hash = once.text.substr(once.text.rfind(' ') + 1);
  REQUIRE(range.text.find("11 " + hash) != std::string::npos);
}

TEST_CASE("trace hashes are those of every compiler and build") {
  const answer a = scoll_sim({"--check-hashes", (folder() / "trace_hashes.txt").string()});
  INFO(a.text);
  REQUIRE(a.status == 0);
}

TEST_CASE("event scripts of past failures hold") {
  std::vector<fs::path> scripts;
  for (const auto& entry : fs::directory_iterator(folder() / "scripts")) {
    if (entry.path().extension() == ".script") scripts.push_back(entry.path());
  }
  std::sort(scripts.begin(), scripts.end());
  REQUIRE_FALSE(scripts.empty());
  for (const fs::path& script : scripts) {
    const answer a = scoll_sim({"--script", script.string(), "--quiet"});
    INFO(script << "\n" << a.text);
    REQUIRE(a.status == 0);
  }
}

TEST_CASE("what makes no sense is refused with a sentence") {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--seeds", "5..1"},
                                                    {"--workload", "groups", "--seeds", "1..2"},
                                                    {"--faults", "all"},
                                                    {"--nodes", "0"},
                                                    {"--nodes", "257"},
                                                    {"--mutants"},
                                                    {"--check-mutants", "docs/mutants.csv"},
                                                    {"--mutant", "double_merge"},
                                                    {"--script", "/none"}}) {
    const answer a = scoll_sim(arguments);
    INFO(a.text);
    REQUIRE(a.status != 0);
    REQUIRE(a.text.size() > 10);
  }
}
