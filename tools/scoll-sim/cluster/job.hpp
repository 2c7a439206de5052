#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "scoll/coro/sleep.hpp"
#include "scoll/node.hpp"
#include "tools/scoll-sim/cluster/freights.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"
#include "tools/scoll-sim/plan/policy_events.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::sim {

/// The services report every execution to this interface.
class ledger {
 public:
  virtual void began(std::uint64_t broadcast, const bcast_context& c) = 0;
  /// The reply has left `execute`.
  virtual void contributed(std::uint64_t broadcast, std::uint32_t rank) = 0;
  /// `execute` has ended, in any way.
  virtual void left(std::uint64_t broadcast, std::uint32_t rank) noexcept = 0;
  /// The request differs from the one that was sent.
  virtual void garbled(std::uint64_t broadcast) = 0;
  /// A plain hook, or a coroutine, has run beside `execute`.
  virtual void hook_ran(bool plain) noexcept = 0;
  /// The service of a life is asked for the members of a group, and has answered.
  struct naming {
    result<membership_ptr> members;
    nanoseconds takes{0};
  };
  /// The time that the work of a member takes, which is `usual` unless the plan says otherwise.
  virtual nanoseconds work_of(std::uint64_t broadcast, std::uint32_t rank, nanoseconds usual) const = 0;
  /// The items that members of a broadcast stream, as the plan says.
  virtual events::reading stream_of(std::uint64_t broadcast) const = 0;
  /// An item that a member has put has been taken.
  virtual void has_put(std::uint64_t broadcast, bool waited) = 0;
  /// The bulk data of broadcasts, and the members' places.
  virtual freights& loads() noexcept = 0;
  virtual naming asked_for_members(std::uint64_t life, std::uint64_t group) = 0;
  virtual void named_members(std::uint64_t life, std::uint64_t group) noexcept = 0;

 protected:
  ~ledger() = default;
};

/// The `members` hook of every simulated service.
inline task<result<membership_ptr>> name_members(ledger& log, std::uint64_t life, std::uint64_t group) {
  ledger::naming answer = log.asked_for_members(life, group);
  if (answer.takes.count() != 0) co_await sleep_for(answer.takes);
  log.named_members(life, group);
  co_return answer.members;
}

/// Some ranks, as a request carries them.
using few_ranks = std::vector<std::uint16_t>;
inline bool holds(const few_ranks& ranks, std::uint32_t rank) {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}
inline few_ranks as_few_ranks(const number_set& set) {
  few_ranks ranks;
  set.each([&](std::uint32_t rank) { ranks.push_back(static_cast<std::uint16_t>(rank)); });
  return ranks;
}

/// The request of every simulated service.
struct job {
  std::uint64_t broadcast = 0;
  std::uint32_t work_us = 0;
  std::uint32_t prepare_us = 0;
  std::uint32_t extend_us = 0;  ///< some members extend the processing bound to this, and use most of it
  few_ranks refusing;
  few_ranks failing;
  few_ranks throwing;
  few_ranks oversized;
  few_ranks brimful;
  std::vector<std::uint8_t> filler;
};

/// A sum in which each member has a part of its own, so that a missing part or one counted twice shows.
struct tally {
  std::uint64_t total = 0;
  std::uint32_t members = 0;
  std::uint32_t entities = 0;
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

/// The members that extend the processing bound where a broadcast asks for it.
constexpr bool extends(std::uint32_t rank) {
  return rank % 3 == 1;
}

constexpr std::uint64_t contribution(std::uint64_t broadcast, std::uint32_t rank) {
  std::uint64_t z = (broadcast << 16) + rank + 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// The number of entities that a host has in a group with entities.
constexpr std::uint32_t entities_of(std::uint64_t group, std::uint32_t host) {
  return static_cast<std::uint32_t>((group * 5 + std::uint64_t{host} * 3) % 4);
}

/// The place of a host in a group whose members are in zones.
constexpr member_place place_of(std::uint64_t group, std::uint32_t host, std::uint32_t zones) {
  if (zones == 0) return {};
  const std::uint64_t drawn = contribution(~group, host);
  return {static_cast<std::uint16_t>(drawn % zones), static_cast<std::uint16_t>((drawn >> 32) % 4)};
}

/// One execution, for as long as its hook runs.
class execution {
 public:
  execution(ledger& log, const job& j, const bcast_context& c)
      : log_(log), broadcast_(j.broadcast), rank_(c.rank()) {
    const bool intact = std::all_of(j.filler.begin(), j.filler.end(),
                                    [&](std::uint8_t byte) { return byte == filling(broadcast_); });
    if (!intact) log_.garbled(broadcast_);
    log_.began(broadcast_, c);
    if (c.bulk()) log_.loads().unloads(c);
  }
  ~execution() { log_.left(broadcast_, rank_); }
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;

  /// What `execute` gives when its work is done.
  result<tally> outcome(const job& j, const bcast_context& c) const;

 private:
  ledger& log_;
  std::uint64_t broadcast_;
  std::uint32_t rank_;
};

/// Makes the reply of one member. A brimful one takes exactly the capacity.
inline tally tally_of(const job& j, const bcast_context& c) {
  tally mine;
  mine.total = contribution(j.broadcast, c.rank());
  mine.members = 1;
  mine.entities = static_cast<std::uint32_t>(c.entities().size());
  if (j.work_us % 8 == 1) mine.filler.resize(200);
  if (holds(j.brimful, c.rank())) {
    mine.filler.resize(tally_capacity - 64);
    while (wire::encoded_size(mine) < tally_capacity) mine.filler.push_back(0);
  }
  if (holds(j.oversized, c.rank())) mine.filler.resize(oversized_bytes);
  return mine;
}

inline result<tally> execution::outcome(const job& j, const bcast_context& c) const {
  if (holds(j.failing, rank_)) return error(errc::io_error, "told to fail");
  if (holds(j.throwing, rank_)) throw std::runtime_error("told to throw");
  log_.contributed(broadcast_, rank_);
  return tally_of(j, c);
}

inline void merge_tallies(tally& into, const tally& from) noexcept {
  into.total += from.total;
  into.members += from.members;
  into.entities += from.entities;
  into.filler.insert(into.filler.end(), from.filler.begin(), from.filler.end());
}

/// Does the work of one member, which takes time.
inline task<result<tally>> do_job(ledger& log, const job& j, bcast_context& c) {
  const execution present(log, j, c);
  const std::uint32_t longer = extends(c.rank()) ? j.extend_us / 4 * 3 : 0;
  const nanoseconds work =
      log.work_of(j.broadcast, c.rank(), std::chrono::microseconds(std::max(j.work_us, longer)));
  if (work.count() != 0) {
    stop_token stop = c.stop();
    if (deaf(j.broadcast)) stop = {};
    const status slept = co_await sleep_for(work, stop);
    if (!slept) co_return slept.error();
  }
  co_return present.outcome(j, c);
}

/// Does the work of one member at once.
inline result<tally> do_job_now(ledger& log, const job& j, bcast_context& c) {
  const execution present(log, j, c);
  return present.outcome(j, c);
}

}  // namespace scoll::sim
