#pragma once

#include <cstdint>

#include "gossip/configuration.hpp"
#include "gossip/log.hpp"
#include "gossip/message_seal.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The meaning of the entries that messages carry.
enum class age_rule : std::uint8_t {
  guarded_stamps,  ///< the cluster cycle at which the entry's owner was last heard; ages follow the clock
  relative_ages,   ///< as in the original protocol: +1 per own cycle and +1 per hop
};

/// How the cluster clock advances.
enum class clock_rule : std::uint8_t {
  guarded,  ///< one per own tick; it follows other clocks within limits
  lamport,  ///< as in the original protocol: one per own tick, and to C + 1 on hearing C
};

/// How the threshold is found: the age beyond which a participant is dead.
enum class threshold_rule : std::uint8_t {
  computed,   ///< from participants, loss, interval and budget
  logarithm,  ///< as in the original protocol: log2 of the participants
};

/// The options that each participant chooses by itself. The rules and numbers of the exchange are those of
/// docs/gossip.md; change them for studies only.
struct options {
  /// The incarnation of this life, greater than those of earlier lives. It must be set.
  std::uint64_t incarnation = 0;
  /// The seed of random choices, which may be the same at all participants; 0: from the system's entropy.
  std::uint64_t seed = 0;
  /// A safe estimate of the round-trip time, at most twice the interval.
  nanoseconds rtt = std::chrono::milliseconds(1);

  /// The least share of lost messages to allow for, 0 to 0.5.
  double expected_loss = 0.05;
  /// The most false verdicts per year in the whole cluster; greater than 0.
  double false_verdicts_per_year = 1;
  /// The threshold in cycles, up to 200, and not below what `forgiven_pause` demands. 0: it is computed, and
  /// raised with the loss.
  std::uint32_t threshold_cycles = 0;
  /// A pause up to this long is never taken for a death: 1 s to 1 min.
  nanoseconds forgiven_pause = std::chrono::seconds(1);

  age_rule ages = age_rule::guarded_stamps;
  clock_rule clock = clock_rule::guarded;
  threshold_rule threshold = threshold_rule::computed;
  /// Other participants to try in a cycle that has had no reply, 0 to 8.
  std::uint32_t retries = 2;
  /// One in so many pings goes to a participant held dead; 0: these are chosen like all others.
  std::uint32_t reprobe_one_in = 8;
  /// Replies leave out entries that are fresher than the receiver's by no more than this many cycles
  /// (relative ages: one more).
  std::uint32_t fudge_cycles = 0;
  /// The first cycle begins at a random time within one interval, and each ping leaves late by a random time
  /// of up to 1/20 of it.
  bool jitter = true;
  /// After a start the participant stays silent until others hold its previous life dead.
  bool stealth = true;

  /// The most bytes of a sealed message; 0: what the port can carry.
  std::uint32_t most_message_bytes = 0;
  /// The seal; none: a checksum detects altered messages, but not forged ones.
  message_seal* seal = nullptr;
  log_sink* log = nullptr;
};

/// Checks options against a configuration. Error: `invalid_argument`, whose text names the option and its
/// range.
status check(const options& chosen, const configuration& shared);

}  // namespace scoll::gossip
