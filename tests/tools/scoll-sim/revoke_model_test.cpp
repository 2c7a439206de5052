#include "tools/scoll-sim/scale/revoke_model.hpp"

#include "program.hpp"
#include "tools/scoll-sim/exhaust/revoke_graph.hpp"

using namespace scoll::sim;
using namespace scoll::test;

TEST_CASE("a revoke reaches all survivors of any deaths fewer than the degree", "[revoke]") {
  const exhausted drawn = flood_with_drawn_views(9, slow_build ? 2 : 8, 1);
  CHECK(drawn.cases > (slow_build ? 5'000 : 20'000));
  CHECK(drawn.violation.empty());
  const exhausted equal = flood_with_equal_views(slow_build ? 8 : 10);
  CHECK(equal.cases > (slow_build ? 5'000 : 50'000));
  CHECK(equal.violation.empty());
}

TEST_CASE("a revoke among a thousand nodes takes little longer than the best tree", "[revoke]") {
  revoke_model model;
  model.members = 1024;
  const revoke_course clean = flood_revoke(model, {});
  CHECK(clean.unheard == 0);
  CHECK(clean.last <= 39);
  // Nineteen neighbours and one child in the tree, less the sender.
  CHECK(clean.notices <= 1024U * 20);
  CHECK(clean.notices >= 1024U * 18);
  const revoke_draws dead = draw_revokes(model, 16, 40, 1);
  CHECK(dead.unheard == 0);
  CHECK(dead.worst <= 42);
  CHECK(dead.median <= 41);
  model.nearest_first = true;
  CHECK(draw_revokes(model, 16, 40, 1).worst > 42);
}

TEST_CASE("the model counts what one can count by hand", "[revoke]") {
  revoke_model model;
  model.members = 2;
  const revoke_course two = flood_revoke(model, {});
  CHECK(two.last == 7);
  CHECK(two.notices == 1);
  model.members = 4;
  // Rank 0 turns to its three neighbours at 0, 1 and 2; each tells the two others that did not tell it.
  const revoke_course four = flood_revoke(model, {});
  CHECK(four.last == 9);
  CHECK(four.notices == 9);
  const std::uint32_t dead[]{1, 2};
  const revoke_course left = flood_revoke(model, dead);
  CHECK(left.unheard == 0);
  CHECK(left.last <= 9);
}

TEST_CASE("a revoke takes longer by steps with the size of the group", "[revoke]") {
  revoke_model model;
  std::uint32_t before = 0;
  for (const std::uint32_t n : {100U, 1'000U, 10'000U, slow_build ? 20'000U : 100'000U}) {
    model.members = n;
    const revoke_course course = flood_revoke(model, {});
    INFO(n << " members: " << course.last << " o");
    CHECK(course.unheard == 0);
    CHECK(course.last > before);
    CHECK(course.last <= before + 24);
    before = course.last;
  }
  CHECK(before <= 75);
}

TEST_CASE("the exhaustive checks are listed, run by name, and count their cases", "[revoke]") {
  const answer help = scoll_sim({"--help"});
  CHECK(help.text.find("--exhaust") != std::string::npos);
  CHECK(help.text.find("revoke (a revoke:") != std::string::npos);
  CHECK(scoll_sim({"--exhaust", "nothing"}).status != 0);
  if (slow_build) return;
  const answer a = scoll_sim({"--exhaust", "revoke", "--json"});
  INFO(a.text);
  CHECK(a.status == 0);
  CHECK(number_in(a.text, "cases") > 10'000);
}
