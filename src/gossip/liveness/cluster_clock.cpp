#include "gossip/liveness/cluster_clock.hpp"

#include <algorithm>
#include <functional>

#include "scoll/coro/mutants.hpp"

namespace scoll::gossip {
namespace {

constexpr std::int64_t burst = 3;
constexpr std::uint32_t most_quorum = 3;
constexpr std::uint32_t least_witnesses = 2;
constexpr std::uint64_t recent_ticks = 2;
constexpr std::uint64_t ahead = 3;

}  // namespace

cluster_clock::cluster_clock(clock_rule rule, nanoseconds interval) noexcept
    : rule_(rule), price_(interval * 9 / 10), credit_(price_ * burst) {}

/// Elapsed time is credit. Credit from a gap is not cut to the burst, because the others went on meanwhile.
void cluster_clock::refill(time_point at) noexcept {
  const nanoseconds passed = running_ ? std::max(at - refilled_, nanoseconds(0)) : nanoseconds(0);
  running_ = true;
  refilled_ = at;
  credit_ = std::min(credit_ + passed, std::max({price_ * burst, credit_, passed}));
}

bool cluster_clock::tick(time_point at, std::uint32_t others_alive) noexcept {
  refill(at);
  quorum_ = std::clamp<std::uint32_t>(others_alive, 1, most_quorum);
  const bool waits = rule_ == clock_rule::guarded && settled_ && all_behind();
  const std::uint64_t due = at_last_tick_ + 1;
  if (rule_ == clock_rule::lamport) {
    ++now_;
  } else if (!waits && due > now_) {
    now_ = due;
    credit_ = std::max(credit_ - price_, nanoseconds(0));
  }
  at_last_tick_ = now_;
  ++ticks_;
  return waits;
}

bool cluster_clock::hear(participant_index from, std::uint64_t heard, time_point at) noexcept {
  if (rule_ == clock_rule::lamport ||
      SCOLL_MUTANT(gossip_clock_plain, "the cluster clock goes on with every message")) {
    if (heard >= now_) now_ = heard + 1;
    return false;
  }
  refill(at);
  remember(from, heard);
  if (SCOLL_MUTANT(gossip_clock_unguarded, "the cluster clock follows any participant that is ahead")) {
    now_ = std::max(now_, heard);
    return false;
  }
  if (!settled_) {
    start_from(median());
    return false;
  }
  if (heard > now_) follow(heard);
  return heard > now_;
}

/// The clock goes down only with three others: fewer are more likely to be heard late than to be right.
void cluster_clock::start_from(std::uint64_t heard) noexcept {
  if (started_ && heard < now_ && agreeing(heard) < most_quorum) return;
  started_ = true;
  now_ = heard;
  at_last_tick_ = now_;
}

void cluster_clock::follow(std::uint64_t heard) noexcept {
  const auto affordable = static_cast<std::uint64_t>(credit_ / price_);
  const std::uint64_t steps = std::min(heard - now_, affordable);
  now_ += steps;
  credit_ -= price_ * static_cast<std::int64_t>(steps);
  now_ = std::max(now_, std::min(heard, agreed()));
}

void cluster_clock::remember(participant_index from, std::uint64_t heard) noexcept {
  const auto same =
      std::find_if(remarks_.begin(), remarks_.end(), [&](const remark& r) { return r.from == from; });
  if (same != remarks_.end()) {
    *same = {from, heard, ticks_};
    return;
  }
  remarks_[next_remark_] = {from, heard, ticks_};
  next_remark_ = (next_remark_ + 1) % remembered;
}

std::size_t cluster_clock::recent(std::array<std::uint64_t, remembered>& clocks) const noexcept {
  std::size_t count = 0;
  for (const remark& r : remarks_) {
    if (r.from != nobody && r.tick + recent_ticks > ticks_) clocks[count++] = r.clock;
  }
  return count;
}

/// The highest clock that a quorum of others has reached.
std::uint64_t cluster_clock::agreed() const noexcept {
  std::array<std::uint64_t, remembered> clocks;
  const std::size_t count = recent(clocks);
  if (count < quorum_) return 0;
  std::sort(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(count), std::greater<>());
  return clocks[quorum_ - 1];
}

std::uint64_t cluster_clock::median() const noexcept {
  std::array<std::uint64_t, remembered> clocks;
  const std::size_t count = recent(clocks);
  if (count == 0) return now_;
  std::sort(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(count));
  return clocks[(count - 1) / 2];
}

/// How many of the participants heard lately say that it is about `clock`.
std::uint32_t cluster_clock::agreeing(std::uint64_t clock) const noexcept {
  std::array<std::uint64_t, remembered> clocks;
  const std::size_t count = recent(clocks);
  const auto near = [clock](std::uint64_t c) { return c <= clock + ahead && clock <= c + ahead; };
  return static_cast<std::uint32_t>(
      std::count_if(clocks.begin(), clocks.begin() + static_cast<std::ptrdiff_t>(count), near));
}

bool cluster_clock::confirmed(std::uint32_t others) const noexcept {
  return agreeing(now_) >= std::min(others, least_witnesses);
}

bool cluster_clock::all_behind() const noexcept {
  bool heard = false;
  for (const remark& r : remarks_) {
    if (r.from == nobody || r.tick != ticks_) continue;
    heard = true;
    if (r.clock + ahead > now_) return false;
  }
  return heard;
}

}  // namespace scoll::gossip
