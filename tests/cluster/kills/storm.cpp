#include "storm.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "scoll/coro/when_all.hpp"

namespace scoll::test {
namespace {

using steady = std::chrono::steady_clock;

/// How many broadcasts begin after a loss is known, for each that may run at once.
constexpr std::uint32_t after_a_loss = 1;

template <class Result>
void write_account(tally_board::account& to, const Result& r, std::uint32_t members, nanoseconds took) {
  to.ok = r.ok();
  to.code = r.status().error().code();
  to.value = r.has_value() ? r->value : 0;
  to.took_ns = took.count();
  for (std::uint32_t i = 0; i < members; ++i) {
    to.states[i] = r.outcome().state(i);
    to.phases[i] = r.outcome().why(i).where;
    to.causes[i] = r.outcome().why(i).what.code();
  }
  std::snprintf(to.text, sizeof to.text, "%s", describe(r.outcome()).c_str());
  to.is_there.store(true, std::memory_order_release);
}

struct progress {
  std::uint32_t next = 0;
  std::uint32_t end = tally_board::most_broadcasts;
};

task<void> broadcast_in_turn(const group<tally>& members, tally_board& board, progress& at) {
  const tally_board::plan& how = board.how;
  bcast_options options{.on_failure = repair};
  if (how.deadline_ms != 0) options.deadline = std::chrono::milliseconds(how.deadline_ms);
  while (at.next < at.end) {
    const tally::request request{how.storm, at.next++, how.work_us};
    board.broadcasts = at.next;
    const auto began = steady::now();
    const auto r = co_await bcast(members, request, options);
    write_account(board.accounts[request.number], r, how.members, steady::now() - began);
    if (r.ok()) continue;
    if (board.losses++ == 0) at.end = std::min(at.end, at.next + after_a_loss * how.at_once);
  }
}

}  // namespace

task<result<tally::reply>> tally::execute(const request& r, bcast_context& c) const {
  if (r.storm != board->how.storm || r.number >= tally_board::most_broadcasts) {
    ++board->strays;
    co_return error(errc::stale, "this broadcast is over");
  }
  tally_board::deeds& mine = board->done[r.number][c.rank()];
  ++mine.begun;
  if (r.work_us != 0) co_await sleep_for(std::chrono::microseconds(r.work_us));
  ++mine.ended;
  co_return reply{1};
}

task<void> broadcast_until_loss(node& root, const group<tally>& members, tally_board& board) {
  const std::uint64_t before = root.snapshot().collectives.repair_rounds;
  progress at;
  std::vector<task<void>> at_once;
  for (std::uint32_t i = 0; i < board.how.at_once; ++i)
    at_once.push_back(broadcast_in_turn(members, board, at));
  co_await when_all(std::move(at_once));
  board.rounds = static_cast<std::uint32_t>(root.snapshot().collectives.repair_rounds - before);
}

}  // namespace scoll::test
