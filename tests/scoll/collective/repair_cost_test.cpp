#include <chrono>

#include "probe.hpp"
#include "tests/scoll/collective/trees.hpp"

using namespace scoll;
using namespace std::chrono_literals;
using namespace scoll::test;

namespace {

struct counts {
  std::uint64_t requests = 0;
  std::uint64_t parts = 0;
};

counts count(cluster& c) {
  counts all;
  for (std::uint32_t i = 0; i < c.size(); ++i) {
    all.requests += c.engine(i).statistics().received;
    all.parts += c.engine(i).statistics().reply_parts;
  }
  return all;
}

void report_death(cluster& c, std::uint32_t victim, std::uint32_t to) {
  c.engine(to).on_dead(victim + 1, 1);
}

}  // namespace

TEST_CASE("the orphans of a large subtree cost two broadcasts' time and two messages each", "[repair]") {
  constexpr std::uint32_t n = 1024;
  constexpr std::uint32_t victim = 64;
  const tree_view tree(knomial{2}, n, 0);
  REQUIRE(tree.subtree(victim).size() == 64);
  virtual_cluster c(n);
  probe service;
  c.serve(service);
  auto g = c.make_group<probe>(0, knomial{2});
  REQUIRE(c.bcast(g, {}).ok());
  flight<probe> clean(c, g, {}, {.deadline = 60s});
  REQUIRE(clean.land().ok());
  service.log->clear();

  c.freeze(victim);
  flight<probe> f(c, g, {}, {.deadline = 60s, .on_failure = repair});
  c.pass(1s);
  REQUIRE(service.log->executed.size() == n - tree.subtree(victim).size());
  const counts before = count(c);
  const auto noticed = c.now();
  report_death(c, victim, tree.parent(victim));
  c.pass(50us);
  for (std::uint32_t i = 0; i < n; ++i) {
    if (i != victim && i != tree.parent(victim)) report_death(c, victim, i);
  }
  auto& r = f.land();
  const nanoseconds took = c.now() - noticed;
  CAPTURE(took.count(), clean.took().count(), describe(r.outcome()));
  CHECK(r.outcome().merged().size() == n - 1);
  CHECK(service.log->executed.size() == n - 1);
  CHECK(took <= 2 * clean.took() + node_options{}.rtt_estimate);
  const counts after = count(c);
  // Each orphan is asked once and answers once; the loss goes up level by level.
  const std::uint64_t asked = after.requests - before.requests;
  CAPTURE(asked, after.parts - before.parts);
  CHECK(2 * asked + (after.parts - before.parts) <= 2 * 64 + 10);
  c.thaw(victim);
}
