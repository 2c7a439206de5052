#include <chrono>
#include <vector>

#include "probe.hpp"
#include "transport/session/session.hpp"

// The times of the levels of a tree: how long each child is awaited, and what measured round trips change.
using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds p = probe::processing_bound;

/// Eight members in a binomial tree: the root awaits subtrees of three, two and one levels.
struct binomial {
  explicit binomial(const node_options& base = {}, nanoseconds latency = 10us) : c(8, base, latency) {
    c.serve(probe{log});
    g = c.make_group<probe>(0, knomial{2});
  }
  /// How long the root waits if a child does not answer.
  nanoseconds without(std::uint32_t child) {
    c.freeze(child);
    const time_point began = c.now();
    const auto r = c.bcast(g, {1});
    const nanoseconds took = c.now() - began;
    CHECK_FALSE(r.ok());
    CHECK(r.outcome().state(child) == member_state::unknown);
    c.thaw(child);
    c.pass(5s);
    return took;
  }
  /// Work that takes so long that the connections are probed.
  void warm_up() {
    log->usual = 800ms;
    REQUIRE(c.bcast(g, {1}).ok());
    log->usual = 0ns;
  }
  nanoseconds safe(std::uint32_t child) { return c[0].wire().find(child + 1)->rtt().safe(); }

  std::shared_ptr<probe_log> log = std::make_shared<probe_log>();
  virtual_cluster c;
  group<probe> g;
};

}  // namespace

TEST_CASE("each child is awaited for its levels, and the processing once") {
  binomial b;
  const nanoseconds r = node_options{}.rtt_estimate, m = node_options{}.level_margin;
  const group_timing t = b.g.timing();
  CHECK(t.round_trip == r);
  CHECK(t.level_margin == m);
  CHECK(t.processing == p);
  CHECK(t.levels == 4);
  CHECK(t.longest == 4 * (r + m) + p);
  CHECK(t.measured == 0ns);
  const tree_view tree(knomial{2}, 8, 0);
  std::vector<int> levels;
  for (const std::uint32_t child : tree.children(0)) {
    const nanoseconds took = b.without(child);
    const auto d = (took - p).count() / (r + m).count();
    levels.push_back(static_cast<int>(d));
    CHECK(took == d * (r + m) + p);
  }
  std::sort(levels.begin(), levels.end());
  CHECK(levels == std::vector{1, 2, 3});
}

TEST_CASE("slow connections lengthen the times by themselves") {
  binomial b({}, 30ms);  // a round trip of 60 ms
  const nanoseconds m = node_options{}.level_margin;
  b.warm_up();
  REQUIRE(b.c.bcast(b.g, {1}).ok());
  const group_timing t = b.g.timing();
  CHECK(t.round_trip >= 61ms);
  CHECK(t.round_trip < 200ms);
  CHECK(t.measured == t.round_trip);
  CHECK(t.longest == 4 * (t.round_trip + m) + p);
  for (const std::uint32_t child : tree_view(knomial{2}, 8, 0).children(0)) {
    const nanoseconds r = b.g.timing().round_trip;
    const nanoseconds took = b.without(child);
    CHECK((took - p).count() % (r + m).count() == 0);
  }
}

TEST_CASE("fast connections shorten the times only if that is wanted") {
  const bool wanted = GENERATE(false, true);
  node_options base;
  base.measured_rtt = wanted;
  binomial b(base);
  b.warm_up();
  REQUIRE(b.c.bcast(b.g, {1}).ok());
  const group_timing t = b.g.timing();
  CHECK(t.measured >= 1ms);
  CHECK(t.measured < 2ms);
  CHECK(t.round_trip == (wanted ? t.measured : base.rtt_estimate));
  if (!wanted) return;
  const std::uint32_t child = tree_view(knomial{2}, 8, 0).children(0)[0];
  const nanoseconds took = b.without(child);
  CHECK((took - p).count() % (t.round_trip + base.level_margin).count() == 0);
  CHECK(took < p + 4 * (2ms + base.level_margin));
}

TEST_CASE("the round trip is known from the beginning if it is to shorten times") {
  node_options base;
  base.measured_rtt = true;
  binomial b(base);
  REQUIRE(b.c.bcast(b.g, {1}).ok());
  b.c.pass(1ms);
  REQUIRE(b.c.bcast(b.g, {1}).ok());
  CHECK(b.g.timing().measured >= 1ms);
  CHECK(b.g.timing().round_trip < 2ms);
}

TEST_CASE("an empty group has no times") {
  CHECK(group<probe>().timing() == group_timing{});
}
