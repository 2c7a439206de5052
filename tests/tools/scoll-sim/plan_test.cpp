#include <set>
#include <string>
#include <vector>

#include "scoll/tree/verify.hpp"
#include "tests/catch.hpp"
#include "tools/scoll-sim/cluster/lopsided_tree.hpp"
#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/plan/script.hpp"

using namespace scoll;
using namespace scoll::sim;

namespace {

number_set set_of(std::initializer_list<std::uint32_t> numbers) {
  number_set set;
  for (const std::uint32_t n : numbers) set.insert(n);
  return set;
}

std::string complaint_about(const std::string& script) {
  try {
    from_text(script);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return {};
}

/// The operands of all events of one kind, with their times.
template <class Event>
std::string events_of(const plan& p) {
  plan only = p;
  std::erase_if(only.events, [](const plan_event& e) { return !std::holds_alternative<Event>(e.what); });
  return to_text(only);
}

}  // namespace

TEST_CASE("a set of numbers is written as ranges and read again") {
  const std::vector<std::pair<number_set, std::string>> all{{{}, "{}"},
                                                            {set_of({7}), "{7}"},
                                                            {set_of({0, 1, 2, 5}), "{0-2,5}"},
                                                            {number_set::below(256), "{0-255}"}};
  for (const auto& [set, text] : all) {
    REQUIRE(set.to_text() == text);
    REQUIRE(number_set::from_text(text) == set);
  }
  REQUIRE(number_set::from_text("65535") == number_set::below(16));
  REQUIRE(number_set::from_text("0") == number_set());
  for (const char* const wrong : {"", "{", "{1", "{256}", "{5-2}", "{1,}x", "1x", "{a}"}) {
    INFO(wrong);
    REQUIRE_FALSE(number_set::from_text(wrong));
  }
}

TEST_CASE("a set of numbers knows its size and its members") {
  const number_set set = set_of({3, 64, 255});
  REQUIRE(set.size() == 3);
  REQUIRE((set.contains(64) && !set.contains(63) && !set.contains(256)));
  REQUIRE((set - set_of({64})) == set_of({3, 255}));
  REQUIRE((set & number_set::below(65)) == set_of({3, 64}));
  std::vector<std::uint32_t> visited;
  set.each([&](std::uint32_t n) { visited.push_back(n); });
  REQUIRE(visited == std::vector<std::uint32_t>{3, 64, 255});
}

TEST_CASE("a script says everything about a plan") {
  std::set<std::size_t> kinds;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    for (const workload work :
         {workload::mixed, workload::ship, workload::plain, workload::failures, workload::streams}) {
      const plan drawn = draw_plan({seed, 16, fault_profile::swarm, work});
      const plan read = from_text(to_text(drawn));
      REQUIRE(to_text(read) == to_text(drawn));
      REQUIRE(read.events.size() == drawn.events.size());
      for (std::size_t i = 0; i < read.events.size(); ++i)
        REQUIRE(numbers_of(read.events[i].what) == numbers_of(drawn.events[i].what));
      for (const plan_event& e : drawn.events) kinds.insert(e.what.index());
    }
  }
  REQUIRE(kinds.size() == std::variant_size_v<happening>);
}

TEST_CASE("a script of earlier times is read: sets as bit masks, operands that are new left out") {
  const plan p = from_text("# a comment\nseed 5\nhosts 4\n0 wires 1 2 3 4 2 64\n9 group 2 1 3 2 15 1\n");
  REQUIRE(p.seed == 5);
  REQUIRE(p.hosts == 4);
  const auto& group = std::get<events::group>(p.events.at(1).what);
  REQUIRE(p.events.at(1).at == nanoseconds(9));
  REQUIRE((group.number == 2 && group.creator == 1 && group.tree == 3 && group.tree_parameter == 2));
  REQUIRE(group.members == number_set::below(4));
  REQUIRE((group.service == service_kind::hooked && !group.entities));
}

TEST_CASE("a line that is no event is named with its number") {
  for (const char* const wrong :
       {"5 dance 1 2", "x cut 1 2", "-1 cut 1 2", "5 cut 1 2 3", "5 cut 1 x", "5", "5 stray 1 2 9",
        "5 crash 1 2", "hosts 0", "hosts 257", "5 partition {1-} 7"}) {
    INFO(wrong);
    REQUIRE(complaint_about(std::string("seed 1\n") + wrong + "\n").starts_with("line 2 is no event: "));
  }
}

TEST_CASE("each subject has draws of its own") {
  draws a(7, "faults"), again(7, "faults"), other_subject(7, "groups"), other_item(7, "faults", 1),
      other_seed(8, "faults");
  const std::uint64_t first = a.next();
  REQUIRE(first == again.next());
  REQUIRE(first != other_subject.next());
  REQUIRE(first != other_item.next());
  REQUIRE(first != other_seed.next());
}

TEST_CASE("what one subject draws does not depend on whether another draws") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    const plan with_faults = draw_plan({seed, 16, fault_profile::light, workload::mixed});
    const plan without = draw_plan({seed, 16, fault_profile::none, workload::mixed});
    REQUIRE(events_of<events::bcast>(with_faults) == events_of<events::bcast>(without));
    REQUIRE(events_of<events::call>(with_faults) == events_of<events::call>(without));
    REQUIRE(events_of<events::haul>(with_faults) == events_of<events::haul>(without));
    REQUIRE(events_of<events::group>(with_faults) == events_of<events::group>(without));
    REQUIRE(events_of<events::manner>(with_faults) == events_of<events::manner>(without));
  }
}

TEST_CASE("a third of the seeds of each workload with nodes are guarded, and change their keys in order") {
  for (const workload work : {workload::mixed, workload::plain, workload::ship, workload::bulk}) {
    int guarded = 0, changed = 0;
    for (std::uint64_t seed = 1; seed <= 600; ++seed) {
      const plan p = draw_plan({.seed = seed, .hosts = 5, .work = work});
      std::vector<std::uint32_t> steps(5);
      bool guards = false, hardware = false;
      for (const plan_event& e : p.events) {
        guards |= std::holds_alternative<events::guards>(e.what);
        hardware |= std::holds_alternative<events::remote_memory>(e.what);
        const auto* const key = std::get_if<events::rekey>(&e.what);
        if (key == nullptr) continue;
        REQUIRE(key->step == ++steps[key->host]);
        for (const std::uint32_t other : steps) REQUIRE(other + 1 >= key->step);
      }
      REQUIRE_FALSE((guards && hardware));
      guarded += guards;
      changed += steps == std::vector<std::uint32_t>(5, 3);
    }
    CHECK(guarded > 160);
    CHECK(guarded < 240);
    CHECK(3 * changed > guarded);
    CHECK(3 * changed < 2 * guarded);
  }
}

TEST_CASE("the tree of the simulated program keeps the contract of trees") {
  tree_verifier verifier;
  for (std::uint32_t stride = 1; stride <= 9; ++stride) {
    for (std::uint32_t n = 1; n <= 70; ++n) {
      const auto defect = verifier.check(lopsided_tree{stride}, n);
      INFO(stride << ' ' << n << ' ' << (defect ? defect->what : ""));
      REQUIRE_FALSE(defect);
    }
  }
}
