// The program that contains the mutants is built with the tests by one preset only.
#ifdef SCOLL_TEST_MUTANTS

#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "program.hpp"
#include "tests/support/tests_folder.hpp"

using namespace scoll::test;

namespace {

namespace fs = std::filesystem;

answer with_mutants(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"--jobs", "1", "--quiet"});
  return run_beside("scoll-sim-mutants", std::move(arguments));
}

/// A file of rows about mutants, which is removed with the object.
struct rows_file {
  explicit rows_file(const std::string& rows)
      : path(fs::temp_directory_path() / ("scoll-mutants-" + std::to_string(getpid()) + ".csv")) {
    std::ofstream(path) << "mutant,workload,nodes,seed,property\n" << rows;
  }
  ~rows_file() { fs::remove(path); }
  std::string text() const {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  fs::path path;
};

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("every mutant is found by the run that docs/mutants.csv names") {
  const fs::path file = scoll::test::tests_folder().parent_path() / "docs/mutants.csv";
  const answer a = with_mutants({"--check-mutants", file.string()});
  INFO(a.text);
  REQUIRE(a.status == 0);
}

TEST_CASE("a file that does not say what finds the mutants is refused with every reason") {
  const rows_file file("gossip_no_stealth,mixed,16,1,p\nmade_up,mixed,16,1,p\nlost_credit,mixed,16,1,p\n");
  const answer a = with_mutants({"--check-mutants", file.path.string()});
  INFO(a.text);
  REQUIRE(a.status == 1);
  REQUIRE(contains(a.text, "gossip_no_stealth is not found with --workload mixed --nodes 16 --seed 1\n"));
  REQUIRE(contains(a.text, "made_up is not a mutant of this program\n"));
  REQUIRE(contains(a.text, "double_merge has no row\n"));
  REQUIRE_FALSE(contains(a.text, "lost_credit"));
  REQUIRE(contains(a.text, "run ./dev sim --mutants --write docs/mutants.csv\n"));
}

TEST_CASE("the row of a mutant that is found is written anew, and the others are kept") {
  const rows_file file(
      "lost_credit,mixed,16,9,kept\nmade_up,mixed,16,1,p\nship_loss_unheard,plain,2,1,old\n");
  const answer a = with_mutants({"--mutants", "--mutant", "ship_loss_unheard", "--known", "/none",
                                 "--workload", "ship", "--write", file.path.string(), "--json"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  const auto found = nlohmann::json::parse(a.text);
  REQUIRE(found.size() == 2);
  REQUIRE(found[0]["mutant"] == "(none)");
  REQUIRE(found[0]["seed"].is_null());
  REQUIRE(found[1]["mutant"] == "ship_loss_unheard");
  const std::string run =
      "ship,16," + found[1]["seed"].dump() + "," + found[1]["property"].get<std::string>();
  REQUIRE(file.text() ==
          "mutant,workload,nodes,seed,property\nlost_credit,mixed,16,9,kept\nship_loss_unheard," + run +
              "\n");
}

TEST_CASE("the search for a mutant begins with what is known") {
  const rows_file file("lost_credit,ship,5,77,p\n");
  const std::string before = file.text();
  const answer a =
      with_mutants({"--mutants", "--mutant", "lost_credit", "--known", file.path.string(), "--json"});
  INFO(a.text);
  REQUIRE(a.status == 0);
  const auto found = nlohmann::json::parse(a.text)[1];
  REQUIRE(found["workload"] == "ship");
  REQUIRE(found["nodes"] == 5);
  REQUIRE(found["seed"] == 77);
  REQUIRE(file.text() == before);
}

TEST_CASE("rows cannot be written of other faults, nor of mutants that do not exist") {
  const rows_file file("");
  const std::string name = file.path.string();
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"--mutants", "--faults", "light", "--write", name},
        {"--mutants", "--mutant", "made_up"},
        {"--write", name},
        {"--check-mutants", name + ".none"}}) {
    const answer a = with_mutants(arguments);
    INFO(a.text);
    REQUIRE(a.status != 0);
    REQUIRE(a.status != 1);
  }
}

#endif
