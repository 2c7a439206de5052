#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "scoll/coro/sleep.hpp"
#include "scoll/node.hpp"

namespace scoll::sim {

/// The services report every execution to this interface.
class ledger {
 public:
  virtual void began(std::uint64_t broadcast, std::uint32_t rank) = 0;
  /// The reply has left `execute`.
  virtual void contributed(std::uint64_t broadcast, std::uint32_t rank) = 0;
  /// `execute` has ended, in any way.
  virtual void left(std::uint64_t broadcast, std::uint32_t rank) noexcept = 0;
  /// The request differs from the one that was sent.
  virtual void garbled(std::uint64_t broadcast) = 0;

 protected:
  ~ledger() = default;
};

/// Sets are bit masks of ranks.
struct job {
  std::uint64_t broadcast = 0;
  std::uint32_t work_us = 0;
  std::uint32_t prepare_us = 0;
  std::uint64_t refusing = 0;
  std::uint64_t failing = 0;
  std::uint64_t throwing = 0;
  std::uint64_t oversized = 0;
  std::vector<std::uint8_t> filler;
};

/// A sum in which each member has a part of its own, so that a missing part or one counted twice shows.
struct tally {
  std::uint64_t total = 0;
  std::uint32_t members = 0;
  std::vector<std::uint8_t> filler;
};

constexpr std::size_t tally_capacity = 2048;
constexpr std::size_t oversized_bytes = 3000;

constexpr std::uint8_t filling(std::uint64_t broadcast) {
  return static_cast<std::uint8_t>(broadcast * 7 + 1);
}

/// Hooks of every fourth broadcast ignore a request to stop.
constexpr bool deaf(std::uint64_t broadcast) {
  return broadcast % 4 == 0;
}

constexpr std::uint64_t contribution(std::uint64_t broadcast, std::uint32_t rank) {
  std::uint64_t z = (broadcast << 16) + rank + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// One execution, for as long as its coroutine lives.
class execution {
 public:
  execution(ledger& log, const job& j, std::uint32_t rank) : log_(log), broadcast_(j.broadcast), rank_(rank) {
    const bool intact = std::all_of(j.filler.begin(), j.filler.end(),
                                    [&](std::uint8_t byte) { return byte == filling(broadcast_); });
    if (!intact) log_.garbled(broadcast_);
    log_.began(broadcast_, rank);
  }
  ~execution() { log_.left(broadcast_, rank_); }
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;

 private:
  ledger& log_;
  std::uint64_t broadcast_;
  std::uint32_t rank_;
};

inline task<result<tally>> do_job(ledger& log, const job& j, bcast_context& c) {
  const std::uint32_t rank = c.rank();
  const std::uint64_t bit = std::uint64_t{1} << rank;
  const execution present(log, j, rank);
  if (j.work_us != 0) {
    stop_token stop = c.stop();
    if (deaf(j.broadcast)) stop = {};
    const status slept = co_await sleep_for(std::chrono::microseconds(j.work_us), stop);
    if (!slept) co_return slept.error();
  }
  if ((j.failing & bit) != 0) co_return error(errc::io_error, "told to fail");
  if ((j.throwing & bit) != 0) throw std::runtime_error("told to throw");
  tally mine;
  mine.total = contribution(j.broadcast, rank);
  mine.members = 1;
  if (j.work_us % 8 == 1) mine.filler.resize(200);
  if ((j.oversized & bit) != 0) mine.filler.resize(oversized_bytes);
  log.contributed(j.broadcast, rank);
  co_return mine;
}

inline void merge_tallies(tally& into, const tally& from) noexcept {
  into.total += from.total;
  into.members += from.members;
  into.filler.insert(into.filler.end(), from.filler.begin(), from.filler.end());
}

/// A service with `execute` only.
struct bare_service {
  static constexpr service_id id{0x0301};
  static constexpr std::string_view name = "bare";
  static constexpr nanoseconds processing_bound = std::chrono::seconds(1);
  static constexpr std::size_t reply_capacity = tally_capacity;
  using request = job;
  using reply = tally;
  ledger* log = nullptr;

  task<result<tally>> execute(const job& j, bcast_context& c) { return do_job(*log, j, c); }
  static void merge(tally& into, const tally& from) noexcept { merge_tallies(into, from); }
};

/// A service with every hook, all of them coroutines.
struct hooked_service {
  static constexpr service_id id{0x0302};
  static constexpr std::string_view name = "hooked";
  static constexpr nanoseconds processing_bound = std::chrono::milliseconds(700);
  static constexpr std::size_t reply_capacity = tally_capacity;
  using request = job;
  using reply = tally;
  ledger* log = nullptr;

  task<status> prepare(job& j, bcast_context& c) {
    if (j.prepare_us != 0) {
      const status slept = co_await sleep_for(std::chrono::microseconds(j.prepare_us), c.stop());
      if (!slept) co_return slept;
    }
    if ((j.refusing >> c.rank() & 1) != 0) co_return error(errc::io_error, "told to refuse");
    co_return status{};
  }
  task<result<tally>> execute(const job& j, bcast_context& c) { return do_job(*log, j, c); }
  static void merge(tally& into, const tally& from) noexcept { merge_tallies(into, from); }
  task<void> on_reply(const arrival<tally>& a, bcast_context&) {
    if (a.rank % 3 == 0) co_await sleep_for(std::chrono::microseconds(20));
  }
  task<status> finish(tally&, bcast_context& c) {
    if (c.rank() % 4 == 1) co_await sleep_for(std::chrono::microseconds(30));
    co_return status{};
  }
  void replied(bcast_context&) noexcept {}
};

}  // namespace scoll::sim
