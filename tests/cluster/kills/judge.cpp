#include "judge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace scoll::test {
namespace {

/// One broadcast, of which every statement is checked.
class hearing {
 public:
  hearing(const tally_board& board, std::uint32_t number, std::uint32_t killed, verdict& to)
      : how_(board.how),
        number_(number),
        killed_(killed),
        done_(board.done[number]),
        told_(board.accounts[number]),
        to_(to) {}

  void hold() {
    if (!told_.is_there.load(std::memory_order_acquire)) return blame("the root was told nothing");
    std::uint32_t merged = 0;
    for (std::uint32_t i = 0; i < how_.members; ++i) {
      merged += told_.states[i] == member_state::merged;
      if (i == killed_) {
        check_killed();
      } else {
        check_survivor(i);
      }
    }
    if (told_.value != merged) blame(fmt::format("{} are merged, and {} in the value", merged, told_.value));
    if (told_.ok != (merged == how_.members)) blame(fmt::format("it is {}ok", told_.ok ? "" : "not "));
    if (!told_.ok && told_.code != errc::incomplete)
      blame(fmt::format("it ended with {}", to_string(told_.code)));
    check_time();
    count();
  }

 private:
  void check_survivor(std::uint32_t i) {
    const auto [begun, ended] = deeds_of(i);
    if (begun != 1 || ended != 1)
      blame(fmt::format("survivor {} began {} times and ended {}", i, begun, ended));
    if (told_.states[i] != member_state::merged) blame(fmt::format("survivor {} is {}", i, says(i)));
  }
  /// An unknown member may have begun, or not; what else it is called must be so.
  void check_killed() {
    const auto [begun, ended] = deeds_of(killed_);
    if (begun > 1) blame(fmt::format("the killed {} began {} times", killed_, begun));
    const member_state state = told_.states[killed_];
    const bool has_executed = state == member_state::merged || state == member_state::executed;
    const bool has_not = state == member_state::not_reached ||
                         (state == member_state::failed && told_.phases[killed_] == phase::admission);
    if ((has_executed && ended != 1) || (has_not && begun != 0))
      blame(fmt::format("the killed {} is {}, and began {} times and ended {}", killed_, says(killed_), begun,
                        ended));
    if (!has_executed && !has_not && state != member_state::unknown)
      blame(fmt::format("the killed {} is {}", killed_, says(killed_)));
  }
  void check_time() {
    if (how_.deadline_ms != 0 && told_.took_ns >= std::int64_t{how_.deadline_ms} * 1'000'000)
      blame(fmt::format("it took {} ms", told_.took_ns / 1'000'000));
  }
  void count() {
    to_.longest_ns = std::max(to_.longest_ns, told_.took_ns);
    const member_state state = told_.states[killed_];
    if (state == member_state::merged) return;
    ++to_.losses;
    to_.unknown += state == member_state::unknown;
    to_.not_reached += state == member_state::not_reached;
    to_.refused += state == member_state::failed;
    to_.executed += deeds_of(killed_).second != 0;
  }

  std::pair<unsigned, unsigned> deeds_of(std::uint32_t i) const {
    return {done_[i].begun.load(), done_[i].ended.load()};
  }
  std::string says(std::uint32_t i) const {
    return fmt::format("{} ({}, {})", to_string(told_.states[i]), to_string(told_.phases[i]),
                       to_string(told_.causes[i]));
  }
  void blame(const std::string& what) {
    to_.faults.push_back(fmt::format("broadcast {} of storm {}: {}; the root was told: {}", number_,
                                     how_.storm, what, told_.text));
  }

  const tally_board::plan& how_;
  std::uint32_t number_;
  std::uint32_t killed_;
  const std::array<tally_board::deeds, tally_board::most_members>& done_;
  const tally_board::account& told_;
  verdict& to_;
};

}  // namespace

verdict judge(const tally_board& board, std::uint32_t killed) {
  verdict found;
  found.broadcasts = board.broadcasts;
  for (std::uint32_t i = 0; i < found.broadcasts; ++i) hearing(board, i, killed, found).hold();
  if (board.strays != 0)
    found.faults.push_back(
        fmt::format("a broadcast of an earlier storm was executed {} times", board.strays.load()));
  return found;
}

}  // namespace scoll::test
