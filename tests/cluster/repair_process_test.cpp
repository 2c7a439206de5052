#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>

#include "kills/kill_series.hpp"
#include "tests/catch.hpp"
#include "tests/support/build.hpp"

using namespace scoll;
using namespace scoll::test;

TEST_CASE("interior servers are killed, and every survivor executes exactly once", "[process]") {
  kill_series series(1);
  const std::uint32_t kills = slow_build ? 6 : 20;
  for (std::uint32_t i = 0; i < kills; ++i) series.kill_one();
  series.end();
  const kill_report& r = series.report();
  INFO(fmt::format("{}", fmt::join(r.faults, "\n")));
  CHECK(r.faults.empty());
  CHECK(r.kills == kills);
  CHECK(r.asked_again > 0);
  CHECK(r.unknown > 0);
  CHECK(r.not_reached > 0);
}

namespace {

constexpr std::uint32_t killed = 2;

/// The board after one broadcast of four members, of which one was killed before it had begun.
std::unique_ptr<tally_board> board_after_a_kill() {
  auto board = std::make_unique<tally_board>();
  board->begin({.members = 4, .deadline_ms = 100});
  board->broadcasts = 1;
  tally_board::account& told = board->accounts[0];
  told.states = {member_state::merged, member_state::merged, member_state::not_reached, member_state::merged};
  told.phases[killed] = phase::delivery;
  told.value = 3;
  told.code = errc::incomplete;
  told.is_there = true;
  for (const std::uint32_t survivor : {0U, 1U, 3U}) {
    board->done[0][survivor].begun = 1;
    board->done[0][survivor].ended = 1;
  }
  return board;
}

std::string fault_after(const std::function<void(tally_board&)>& change) {
  const auto board = board_after_a_kill();
  change(*board);
  const verdict v = judge(*board, killed);
  return v.faults.empty() ? "" : v.faults.front();
}

}  // namespace

TEST_CASE("an account that does not agree with what processes have done is found") {
  using Catch::Contains;
  const auto untouched = judge(*board_after_a_kill(), killed);
  CHECK(untouched.faults.empty());
  CHECK(untouched.losses == 1);
  CHECK(untouched.not_reached == 1);
  const auto told = [](tally_board& b) -> tally_board::account& { return b.accounts[0]; };
  CHECK_THAT(fault_after([](auto& b) { b.done[0][1].begun = 2; }), Contains("survivor 1 began 2 times"));
  CHECK_THAT(fault_after([](auto& b) { b.done[0][1].begun = 0; }), Contains("survivor 1 began 0 times"));
  CHECK_THAT(fault_after([](auto& b) { b.done[0][3].ended = 0; }),
             Contains("survivor 3 began 1 times and ended 0"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).states[1] = member_state::unknown; }),
             Contains("survivor 1 is unknown"));
  CHECK_THAT(fault_after([](auto& b) { b.done[0][killed].begun = 1; }), Contains("killed 2 is not reached"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).states[killed] = member_state::executed; }),
             Contains("killed 2 is executed"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).states[killed] = member_state::pending; }),
             Contains("killed 2 is pending"));
  CHECK_THAT(fault_after([](auto& b) { b.done[0][killed].begun = 2; }), Contains("killed 2 began 2 times"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).value = 4; }), Contains("3 are merged, and 4 in the value"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).ok = true; }), Contains("it is ok"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).code = errc::deadline_exceeded; }),
             Contains("ended with deadline"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).took_ns = 100'000'000; }), Contains("it took 100 ms"));
  CHECK_THAT(fault_after([&](auto& b) { told(b).is_there = false; }), Contains("was told nothing"));
  CHECK_THAT(fault_after([](auto& b) { b.strays = 1; }), Contains("earlier storm"));
}
