#define SCOLL_MUTANTS
#include "scoll/coro/mutants.hpp"

#include <string>
#include <utility>
#include <vector>

#include "tests/catch.hpp"

using namespace scoll;

namespace {

inline int two() {
  return 2 - SCOLL_MUTANT(of_two_sites, "one less than it should be");
}
inline int three() {
  return 3 - SCOLL_MUTANT(of_two_sites);
}

template <class T>
struct box {
  template <class Fn>
  T get(Fn fn) const {
    const auto value = [] {
      return SCOLL_MUTANT(in_template,
                          "a template returns one, "
                          "not zero")
                 ? T(1)
                 : T(0);
    };
    return fn(value());
  }
};

int never_called() {
  return SCOLL_MUTANT(never_reached, "a function that nobody calls");
}

[[maybe_unused]] bool wrong() {
  return SCOLL_MUTANT(without_text) || SCOLL_MUTANT(ambiguous, "this") || SCOLL_MUTANT(ambiguous, "that");
}

void set(const std::string& name, bool on) {
  for (const mutants::mutant& m : mutants::all()) {
    if (m.name == name) *m.on = on;
  }
}

}  // namespace

TEST_CASE("every mutant of the program is listed once, by name, with its text") {
  using row = std::pair<std::string, std::string>;
  std::vector<row> rows;
  for (const mutants::mutant& m : mutants::all()) rows.emplace_back(m.name, m.text);
  const std::vector<row> expected{{"ambiguous", "this"},
                                  {"in_template", "a template returns one, not zero"},
                                  {"never_reached", "a function that nobody calls"},
                                  {"of_two_sites", "one less than it should be"},
                                  {"without_text", ""}};
  REQUIRE(rows == expected);
  REQUIRE(never_called() == 0);
}

TEST_CASE("a mutant without a text is named, and one with two texts") {
  const std::vector<std::string> expected{"the mutant ambiguous has two texts: \"that\" and \"this\"",
                                          "no site of the mutant without_text says what it does"};
  REQUIRE(mutants::problems() == expected);
}

TEST_CASE("a mutant that is switched on is on at all of its sites, and no other one is") {
  const auto same = [](int value) { return value; };
  REQUIRE(two() == 2);
  REQUIRE(three() == 3);
  set("of_two_sites", true);
  REQUIRE(two() == 1);
  REQUIRE(three() == 2);
  REQUIRE(box<int>().get(same) == 0);
  set("of_two_sites", false);
  set("in_template", true);
  REQUIRE(two() == 2);
  REQUIRE(box<int>().get(same) == 1);
  set("in_template", false);
}
