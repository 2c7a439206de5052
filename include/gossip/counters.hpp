#pragma once

#include <cstdint>

namespace scoll::gossip {

/// Counts of what a participant has done since its start. The numbers only grow.
struct counters {
  std::uint64_t cycles = 0;
  /// Pings to the participant that a cycle begins with.
  std::uint64_t pings = 0;
  /// Pings to other participants in the same cycle.
  std::uint64_t retries = 0;
  /// Pings and retries on another own rail than the one that had answered last.
  std::uint64_t other_rail = 0;
  /// Pings and retries that were answered.
  std::uint64_t answered = 0;
  std::uint64_t cycles_without_reply = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  /// Messages that the port or the seal refused.
  std::uint64_t send_failures = 0;
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t replies_sent = 0;
  /// Messages whose entries were merged.
  std::uint64_t merged = 0;

  // Messages that were dropped and changed nothing:
  std::uint64_t unknown_address = 0;
  /// Messages that were truncated, altered, or no messages of this protocol.
  std::uint64_t malformed = 0;
  /// Messages that the seal refused.
  std::uint64_t not_authentic = 0;
  /// Messages that had arrived before.
  std::uint64_t repeated = 0;
  /// Messages that were too many cycles old.
  std::uint64_t obsolete = 0;
  /// Messages from an earlier life of their sender.
  std::uint64_t stale_incarnation = 0;
  /// Messages of another configuration.
  std::uint64_t disagreeing = 0;
  /// Messages of another version of the protocol, which cannot be read further.
  std::uint64_t other_version = 0;
  /// Messages that arrived in stealth or after the end, and were not answered.
  std::uint64_t not_running = 0;

  std::uint64_t alive_events = 0;
  std::uint64_t dead_events = 0;
  std::uint64_t rebooted_events = 0;
  /// Pauses of this process, or jumps of its clock.
  std::uint64_t gaps = 0;
  /// Times that `participant::heard` was told of a present incarnation.
  std::uint64_t heard_elsewhere = 0;
  /// Cycles in which verdicts were withheld.
  std::uint64_t withheld_cycles = 0;
  /// Ticks of the cluster clock that were skipped because all others are behind.
  std::uint64_t clock_held = 0;
  /// Messages whose clock was followed only in part.
  std::uint64_t clock_clipped = 0;
};

}  // namespace scoll::gossip
