#include <string>

#include "program.hpp"
#include "scoll/tree/chain.hpp"
#include "scoll/tree/flat.hpp"
#include "scoll/tree/kary.hpp"
#include "scoll/tree/knomial.hpp"
#include "tools/scoll-sim/exhaust/agree_check.hpp"
#include "tools/scoll-sim/exhaust/agree_engine.hpp"
#include "tools/scoll-sim/exhaust/bulk_check.hpp"
#include "tools/scoll-sim/exhaust/groups_check.hpp"
#include "tools/scoll-sim/exhaust/kill_check.hpp"
#include "tools/scoll-sim/exhaust/rails_check.hpp"

using namespace scoll::sim;
using namespace scoll::test;
using scoll::detail::quorum_rule;

TEST_CASE("two proposers never decide differently, whatever gets lost and whoever is called dead") {
  agree_bounds bounds;
  bounds.ballots = 2;
  bounds.second_asks = false;
  const exhausted found = check_agreement(bounds);
  INFO(found.violation);
  CHECK(found.violation.empty());
  CHECK(found.cases > 10'000);
}

TEST_CASE("survivors never decide differently as long as verdicts are right") {
  agree_bounds bounds;
  bounds.ballots = 2;
  bounds.second_asks = false;
  bounds.rule = quorum_rule::survivors;
  bounds.wrong_verdicts = false;
  const exhausted found = check_agreement(bounds);
  INFO(found.violation);
  CHECK(found.violation.empty());
}

TEST_CASE("survivors decide differently when a verdict is wrong") {
  agree_bounds bounds;
  bounds.ballots = 2;
  bounds.rule = quorum_rule::survivors;
  const exhausted found = check_agreement(bounds);
  CHECK(found.violation == "two outcomes are decided");
  CHECK_FALSE(found.way.empty());
}

TEST_CASE("groups are created, told and destroyed rightly whichever member dies at whichever step") {
  for (const scoll::tree_spec& tree : {scoll::tree_spec(scoll::flat{}), scoll::tree_spec(scoll::chain{})}) {
    const exhausted found = kill_at_each_step(tree, 3);
    INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.front()));
    CHECK(found.violation.empty());
    CHECK(found.cases > 200);
  }
}

namespace {

/// Groups of so many members, of whose steps one of so many is tried: in every run of the tests, and in long ones. 0:
/// they are left to the long ones.
struct kill_size {
  std::uint32_t members;
  std::uint32_t stride;
  std::uint32_t stride_of_long_tests;
};
constexpr kill_size kill_sizes[]{{2, 1, 1},   {3, 1, 1},    {4, 1, 1},  {5, 1, 1},   {6, 7, 1},
                                 {7, 7, 1},   {8, 1, 1},    {9, 1, 1},  {16, 11, 3}, {17, 23, 3},
                                 {31, 0, 13}, {32, 83, 13}, {33, 0, 13}};

}  // namespace

TEST_CASE("the account of a broadcast is exact whichever member is killed at whichever step") {
  const auto policy = GENERATE(scoll::degrade, scoll::fail_fast, scoll::repair);
  const auto what = GENERATE(member_end::loud, member_end::silent, member_end::doubted);
  const scoll::tree_spec trees[]{scoll::chain{}, scoll::knomial{2}, scoll::knomial{4}, scoll::kary{3}};
  for (const scoll::tree_spec& tree : trees) {
    for (const kill_size& size : kill_sizes) {
      if (slow_build && size.members > 5) continue;
      const std::uint32_t stride = long_tests() ? size.stride_of_long_tests : size.stride;
      if (stride == 0) continue;
      const exhausted found = strike_each_member({tree, size.members, policy}, what, stride);
      INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.front()));
      CHECK(found.violation.empty());
      CHECK(found.cases > size.members);
    }
  }
}

TEST_CASE("a member that reboots at whichever step executes once, although its next life holds the group") {
  using enum kill_group;
  const auto [policy, group] = GENERATE(table<scoll::failure_policy, kill_group>({{scoll::degrade, adopted},
                                                                                  {scoll::repair, adopted},
                                                                                  {scoll::repair, unheard_of},
                                                                                  {scoll::repair, delayed}}));
  for (const scoll::tree_spec& tree :
       {scoll::tree_spec(scoll::chain{}), scoll::tree_spec(scoll::knomial{2})}) {
    for (const std::uint32_t members : {2U, 5U}) {
      const exhausted found = strike_each_member({tree, members, policy, group}, member_end::reboot);
      INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.back()));
      CHECK(found.violation.empty());
      CHECK(found.cases > 10);
    }
  }
}

TEST_CASE("the account of a broadcast is exact although a member is called dead wrongly by any other") {
  const auto policy = GENERATE(scoll::degrade, scoll::repair);
  for (const std::uint32_t members : {2U, 4U}) {
    const exhausted found = doubt_by_each_member({scoll::knomial{2}, members, policy}, slow_build ? 7 : 1);
    INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.back()));
    CHECK(found.violation.empty());
    CHECK(found.cases > 3);
  }
}

TEST_CASE("the account of a broadcast is exact whichever two members are killed at whichever steps") {
  const auto what = GENERATE(member_end::loud, member_end::silent, member_end::reboot, member_end::doubted);
  const kill_subject of_four{scoll::chain{}, 4, scoll::repair};
  for (const exhausted& found : {strike_each_pair(of_four, what, slow_build ? 9 : 3),
                                 strike_drawn_pairs(17, slow_build ? 20 : 200, 1)}) {
    INFO(found.part << ": " << found.violation);
    for (const std::string& step : found.way) UNSCOPED_INFO(step);
    CHECK(found.violation.empty());
    CHECK(found.cases >= 20);
  }
}

TEST_CASE("a rail may die after any frame of calls and of bulk data down a tree, and nothing fails") {
  for (const rail_death how : {rail_death::silent, rail_death::reset}) {
    const exhausted found = kill_rails_at_each_frame(scoll::bulk_plan::binary(), how);
    INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.front()));
    CHECK(found.violation.empty());
    CHECK(found.cases > 500);
  }
}

TEST_CASE(
    "bulk data reach all survivors whichever member dies after whichever step, or alters whichever piece") {
  for (const scoll::bulk_plan& plan : exhausted_bulk_plans()) {
    for (std::uint32_t members = 2; members <= (slow_build ? 3U : 5U); ++members) {
      for (const scoll::failure_policy policy : {scoll::degrade, scoll::repair}) {
        const exhausted found = exhaust_bulk_of(plan, members, policy);
        INFO(found.part << ": " << found.violation << (found.way.empty() ? "" : ": " + found.way.front()));
        CHECK(found.violation.empty());
        CHECK(found.cases > 30);
      }
    }
  }
}

TEST_CASE("nodes agree and shrink their group whenever their proposers die or are cut off") {
  const auto what = GENERATE(misfortune::death, misfortune::silent_death, misfortune::two_deaths,
                             misfortune::partition, misfortune::verdicts);
  const bool shrinks = GENERATE(false, true);
  const std::uint32_t stride = slow_build ? 16 : 4;
  const exhausted found = check_engine({5, shrinks, what, stride, 8 * stride});
  INFO(found.part << ": " << found.violation);
  for (const std::string& step : found.way) UNSCOPED_INFO(step);
  CHECK(found.violation.empty());
  CHECK(found.cases > 3);
}

TEST_CASE("an exhaustive check that does not exist is refused") {
  const answer a = scoll_sim({"--exhaust", "nothing"});
  INFO(a.text);
  CHECK(a.status != 0);
  CHECK(a.status != 1);
}

#ifdef SCOLL_TEST_MUTANTS
TEST_CASE("the exhaustive check of the agreement finds its mutants") {
  for (const std::string mutant :
       {"agree_minority", "agree_promise_forgotten", "agree_accepted_ignored", "agree_fails_contributor"}) {
    const answer a = run_beside("scoll-sim-mutants", {"--exhaust", "agree", "--mutant", mutant});
    INFO(mutant << ": " << a.text);
    CHECK(a.status == 1);
    CHECK(a.text.find("violated: ") != std::string::npos);
  }
}

TEST_CASE("the exhaustive check of bulk data finds mutants") {
  for (const std::string mutant : {"piece_hashed_anew", "executes_without_bulk", "bulk_failure_untold"}) {
    const answer a = run_beside(
        "scoll-sim-mutants", {"--exhaust", "bulk", "--exhaust-members", "3", "--quiet", "--mutant", mutant});
    INFO(mutant << ": " << a.text);
    CHECK(a.status == 1);
    CHECK(a.text.find("violated: ") != std::string::npos);
  }
}

TEST_CASE("runs of nodes find a member that holds a shrunk group too early") {
  const answer a = run_beside("scoll-sim-mutants",
                              {"--workload", "agree", "--seed", "1", "--mutant", "shrink_before_decided"});
  INFO(a.text);
  CHECK(a.status == 1);
  CHECK(a.text.find("one shrunk group") != std::string::npos);
}
#endif
