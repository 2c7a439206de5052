#include <chrono>
#include <deque>
#include <optional>
#include <vector>

#include "agreeing.hpp"

// Agreements of a node whose table of operations is full, so that it cannot ask the other members.

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

namespace {

/// A probe with a log of its own. Its broadcasts take places in the table of operations.
struct hanging_probe : probe {
  static constexpr service_id id{0x0213};
  static constexpr std::string_view name = "hanging";
};

node_options places(std::uint32_t count) {
  node_options options;
  options.max_operations = count;
  return options;
}

/// Four members, each with one place for a broadcast. The others have given their values and stopped waiting,
/// so only the first proposes.
struct one_proposer : agreeing {
  one_proposer() : agreeing(4, flat{}, 0, places(1)), creations(nodes.ex) {
    for (const std::uint32_t r : {1U, 2U, 3U}) call(r, 1, {.deadline = 1ms});
    land();
  }
  ~one_proposer() {
    nodes.run([](scope& s) -> task<> { co_await s.join(); }(creations));
  }

  /// Keeps all that the proposer sends from reaching the last member for this time.
  void hold_up_last(nanoseconds time) {
    nodes.network.path(0, 3).blocked_until = nodes.ex.world().now() + time;
  }
  /// Begins to create a group of all nodes. The creation may begin beside a question, and leaves the proposer
  /// no place until all nodes have heard of the group.
  void begin_creation() {
    creations.spawn([](virtual_cluster& on) -> task<> {
      const auto targets = on.targets();
      group_options options;
      options.tree = flat{};
      const auto made = co_await on[0].create_group<probe>(targets, options);
      CHECK(made);
    }(nodes));
    nodes.ex.run_now();
  }
  std::size_t running() { return nodes.engine(0).operations(); }

  scope creations;
};

}  // namespace

TEST_CASE("a proposer without room to ask decides when there is room", "[agreement]") {
  const std::uint32_t waiting = GENERATE(1U, 3U);  // members that wait for the outcome
  agreeing a(3, knomial{2}, 0, places(2));
  hanging_probe service;
  service.log->stuck = {0};
  REQUIRE(a.nodes[0].serve(service));
  const std::vector<target> alone{{1, {}}};
  const auto filler = a.nodes.run(a.nodes[0].create_group<hanging_probe>(alone)).value();
  std::deque<flight<hanging_probe>> stuck;
  const bcast_options patient{.processing_bound = 60s};
  for (int i = 0; i < 2; ++i) stuck.emplace_back(a.nodes, filler, hanging_probe::request{}, patient);
  REQUIRE(a.nodes.bcast(filler, hanging_probe::request{}).error() == errc::busy);
  for (std::uint32_t r = 0; r < 3; ++r) a.call(r, 1, {.deadline = r < waiting ? 30s : 1ms});
  a.nodes.ex.run_for(7s);
  for (std::uint32_t r = 0; r < waiting; ++r) CHECK_FALSE(a.done(r));
  const time_point free = a.nodes.ex.now();
  service.log->release.set();
  a.land();
  // Nobody is taken for failed because this node could not ask.
  a.check_agreed(rank_set::all(waiting), {});
  for (std::uint32_t r = 0; r < waiting; ++r) CHECK(a.ended(r) - free < 2s);
  stuck.clear();
  CHECK(a.nodes.quiet());
}

TEST_CASE("a member is not given up because there is no room to ask it again", "[agreement]") {
  one_proposer a;
  const time_point begun = a.nodes.ex.now();
  // The first question ends after a second, unheard by the last member.
  a.hold_up_last(1005ms);
  a.call(0, 1, {.deadline = 20s});
  a.nodes.ex.run_for(500ms);
  a.begin_creation();
  REQUIRE(a.running() == 2);
  a.nodes.ex.run_until(begun + 1001ms);
  // There is no room for the second question, but there is before the proposer begins anew.
  CHECK(a.running() == 1);
  a.nodes.ex.run_until(begun + 1010ms);
  CHECK(a.running() == 0);
  CHECK_FALSE(a.done(0));
  a.land();
  a.check_agreed({0}, {});
  CHECK(a.ended(0) - begun < 1100ms);
  CHECK(a.nodes.quiet());
}

TEST_CASE("a proposer without room to ask for votes begins anew", "[agreement]") {
  one_proposer a;
  const time_point begun = a.nodes.ex.now();
  a.call(0, 1, {.deadline = 20s});
  a.nodes.ex.run_for(11us);
  a.hold_up_last(1s);  // it has the question
  a.begin_creation();
  REQUIRE(a.running() == 2);
  a.nodes.ex.run_for(900ms);
  CHECK(a.running() == 1);
  CHECK_FALSE(a.done(0));
  a.land();
  a.check_agreed({0}, {});
  CHECK(a.ended(0) - begun < 1500ms);
  CHECK(a.nodes.quiet());
}
