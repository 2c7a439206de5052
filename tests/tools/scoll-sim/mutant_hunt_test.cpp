#include "tools/scoll-sim/mutants/mutant_hunt.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tools/scoll-sim/mutants/mutant_records.hpp"

using namespace scoll::sim;

namespace {

const std::string heading = "mutant,workload,nodes,seed,property\n";

std::string why_refused(const std::string& csv) {
  try {
    static_cast<void>(parse_mutant_records(csv));
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return "accepted";
}

}  // namespace

TEST_CASE("the rows of the mutants are read as they are written") {
  const std::string csv = heading +
                          "a,mixed,16,1,merged once\n"
                          "b,gossip,3,18446744073709551615,\"assertion: x, \"\"y\"\" and z\"\n"
                          "c,ship,64,70,\n";
  const std::vector<mutant_record> records = parse_mutant_records(csv);
  REQUIRE(to_csv(records) == csv);
  REQUIRE(records.size() == 3);
  REQUIRE(records[1].mutant == "b");
  REQUIRE(records[1].run.work == workload::gossip);
  REQUIRE(records[1].run.hosts == 3);
  REQUIRE(records[1].run.seed == 18446744073709551615U);
  REQUIRE(records[1].run.faults == fault_profile::swarm);
  REQUIRE(records[1].property == "assertion: x, \"y\" and z");
  REQUIRE(find_record(records, "c") == &records[2]);
  REQUIRE(find_record(records, "d") == nullptr);
}

TEST_CASE("rows that no run can be made of are refused with their line") {
  for (const std::string row : {"a,mixed,16,1x,p", "a,mixed,16", "a,none,16,1,p", "a,mixed,0,1,p",
                                "a,mixed,257,1,p", "a,mixed,16,-1,p", ",mixed,16,1,p", ""}) {
    INFO(row);
    std::string table = heading;
    table.append("b,mixed,16,1,p\n").append(row).append("\n");
    REQUIRE(why_refused(table).find("line 3 ") == 0);
  }
  REQUIRE(why_refused("mutant,seed,property\na,1,p\n").find("line 1 ") == 0);
  REQUIRE(why_refused(heading + "a,mixed,16,1,p\na,ship,16,1,p\n") ==
          "line 3 is the second row of the mutant a");
}

TEST_CASE("a mutant is searched for with its record, then with all seeds of each workload") {
  mutant_options options;
  options.seeds = 3;
  options.plan.work = workload::ship;
  const auto made = [&](const mutant_record* known) {
    std::string text;
    for (const plan_options& run : runs_to_try(known, options))
      text += std::string(to_string(run.work)) + "/" + std::to_string(run.hosts) + "/" +
              std::to_string(run.seed) + " ";
    return text;
  };
  const std::string mixed = "mixed/16/1 mixed/16/2 mixed/16/3 ", plain = "plain/16/1 plain/16/2 plain/16/3 ",
                    ship = "ship/16/1 ship/16/2 ship/16/3 ", gossip = "gossip/16/1 gossip/16/2 gossip/16/3 ";
  REQUIRE(made(nullptr).find(ship + mixed + plain) == 0);
  REQUIRE(made(nullptr).find(gossip) != std::string::npos);
  mutant_record known;
  known.run.work = workload::gossip;
  known.run.hosts = 5;
  known.run.seed = 70;
  REQUIRE(made(&known).find("gossip/5/70 gossip/5/1 gossip/5/2 gossip/5/3 " + mixed + plain + ship) == 0);
}

TEST_CASE("all mutants are found only if none survived and the library without them held") {
  mutant_report unharmed{"(none)", {}, "", 0}, found{"a", plan_options(), "p", 0}, survived{"b", {}, "", 0};
  REQUIRE(all_found({unharmed, found}));
  REQUIRE_FALSE(all_found({unharmed, found, survived}));
  unharmed.found = plan_options();
  REQUIRE_FALSE(all_found({unharmed, found}));
}

TEST_CASE("a recorded run must find its mutant and pass without it") {
  const plan_options run;
  const std::vector<mutant_trial> trials{{"a", {run}}, {"b", {run}}, {"", {run}}, {"", {run}}};
  const std::vector<trial_result> results{{run, "p", 0}, {{}, "", 0}, {run, "q", 0}, {{}, "", 0}};
  const std::string made = "--workload mixed --nodes 16 --seed 1";
  REQUIRE(judge(trials, results) ==
          std::vector<std::string>{"b is not found with " + made, made + " fails without a mutant: q"});
}
