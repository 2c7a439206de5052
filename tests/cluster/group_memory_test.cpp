#include <csignal>
#include <cstdint>
#include <thread>
#include <vector>

#include "process_cluster.hpp"
#include "scoll/collective/options.hpp"
#include "tests/catch.hpp"

using namespace scoll;
using namespace scoll::test;
using namespace std::chrono_literals;

// Groups that end in great numbers while a member cannot hear of it.
namespace {

constexpr std::uint32_t processes = 4, stopped = 3, group_count = 10'000;

void make_groups(process_cluster& c, lifetime ends_with) {
  order o = c.for_all(order::kind::make_groups);
  o.tree = knomial{2};
  o.lasting = ends_with == lifetime::members;
  o.groups = group_count / 10;  // in parts, because a report must come within 30 s
  for (int part = 0; part < 10; ++part) REQUIRE(c.ask(0, o).ok);
}

/// Waits until no process holds a group any more, and gives the bytes that each uses.
std::vector<std::uint64_t> bytes_once_gone(process_cluster& c) {
  std::vector<std::uint64_t> bytes(processes);
  for (std::uint32_t i = 0; i < processes; ++i) {
    report r;
    for (int polls = 0; polls < 600; ++polls) {
      r = c.ask(i, c.for_all(order::kind::count));
      if (r.groups == 0 && r.groups_ending == 0) break;
      std::this_thread::sleep_for(100ms);
    }
    INFO("process " << i + 1);
    REQUIRE(r.groups == 0);
    REQUIRE(r.groups_ending == 0);
    bytes[i] = r.heap_bytes;
  }
  return bytes;
}

/// Makes groups and ends them all while a member is stopped. Returns the bytes that each process uses when that
/// member has gone on and has heard of it.
std::vector<std::uint64_t> end_beside_a_stopped_member(process_cluster& c, lifetime ends_with) {
  make_groups(c, ends_with);
  REQUIRE(c.ask(stopped, c.for_all(order::kind::count)).groups == group_count);
  c.signal(stopped, SIGSTOP);
  const report ended = c.ask(0, c.for_all(order::kind::end_groups));
  REQUIRE(ended.value == 0);  // the stopped member could not be told of any
  const report waiting = c.ask(0, c.for_all(order::kind::count));
  REQUIRE(waiting.groups == 0);
  REQUIRE(waiting.groups_ending > 0);
  REQUIRE(waiting.groups_ending <= 1024);
  c.signal(stopped, SIGCONT);
  return bytes_once_gone(c);
}

void check_no_memory_is_left(lifetime ends_with) {
  process_cluster c(processes);
  // Pools grow to what was needed at one time, which chance decides. A leak would show in every round.
  auto before = end_beside_a_stopped_member(c, ends_with);
  bool grows = true;
  for (int rounds = 0; grows && rounds < 5; ++rounds) {
    const auto after = end_beside_a_stopped_member(c, ends_with);
    grows = false;
    for (std::uint32_t i = 0; i < processes; ++i) grows |= after[i] > before[i] + before[i] / 100;
    before = after;
  }
  REQUIRE_FALSE(grows);
  c.quit_all();
}

}  // namespace

TEST_CASE("ten thousand groups that end beside a stopped member leave no memory", "[process]") {
  check_no_memory_is_left(lifetime::creator);
}

TEST_CASE("ten thousand groups that outlive their creator and end beside a stopped member leave no memory",
          "[process]") {
  check_no_memory_is_left(lifetime::members);
}
