#pragma once

#include <cstdint>

namespace scoll::gossip {

/// What a participant has done since its start; the numbers only grow.
struct counters {
  std::uint64_t cycles = 0;
  std::uint64_t pings = 0;     ///< to whom a cycle began with, and
  std::uint64_t retries = 0;   ///< to others in the same cycle
  std::uint64_t answered = 0;  ///< of both
  std::uint64_t cycles_without_reply = 0;
  std::uint64_t messages_sent = 0;
  std::uint64_t bytes_sent = 0;
  std::uint64_t send_failures = 0;  ///< refused by the port or the seal
  std::uint64_t messages_received = 0;
  std::uint64_t bytes_received = 0;
  std::uint64_t replies_sent = 0;
  std::uint64_t merged = 0;  ///< messages whose entries were taken in

  // Dropped, having changed nothing
  std::uint64_t unknown_address = 0;
  std::uint64_t malformed = 0;          ///< truncated, altered, or never a message
  std::uint64_t not_authentic = 0;      ///< refused by the seal
  std::uint64_t repeated = 0;           ///< had been here before
  std::uint64_t obsolete = 0;           ///< too many cycles old
  std::uint64_t stale_incarnation = 0;  ///< from an earlier life of its sender
  std::uint64_t disagreeing = 0;        ///< of another configuration
  std::uint64_t not_running = 0;        ///< heard in stealth or after the end: not answered

  std::uint64_t alive_events = 0;
  std::uint64_t dead_events = 0;
  std::uint64_t rebooted_events = 0;
  std::uint64_t gaps = 0;             ///< of this process or its clock
  std::uint64_t withheld_cycles = 0;  ///< in which no verdicts were given
  std::uint64_t clock_held = 0;       ///< ticks skipped because all others are behind
  std::uint64_t clock_clipped = 0;    ///< messages whose clock was not followed to its end
};

}  // namespace scoll::gossip
