#pragma once

#include <cstdint>

#include "gossip/configuration.hpp"
#include "gossip/log.hpp"
#include "gossip/message_seal.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// What an entry of a vector says.
enum class age_rule : std::uint8_t {
  guarded_stamps,  ///< the cluster cycle at which its owner was last heard; ages follow the clock
  relative_ages,   ///< the source's: +1 per own cycle and +1 per hop
};

/// How the cluster clock goes.
enum class clock_rule : std::uint8_t {
  guarded,  ///< one per own tick; follows others within limits
  lamport,  ///< the source's: one per own tick, and to C + 1 on hearing C
};

/// How the age is found beyond which a participant is dead.
enum class threshold_rule : std::uint8_t {
  computed,   ///< from participants, loss, interval and budget
  logarithm,  ///< the source's: log2 of the participants
};

/// What each participant chooses by itself. The rules and numbers of the exchange are those of docs/gossip.md
/// and are to be changed for studies only.
struct options {
  std::uint64_t incarnation = 0;  ///< of this life, greater than those before; must be set
  std::uint64_t seed = 0;         ///< of random choices; all may have the same; 0: from the system's entropy
  nanoseconds rtt = std::chrono::milliseconds(1);  ///< a safe estimate; the interval is at least half of it

  double expected_loss = 0.05;         ///< of messages, 0 to 0.5: the least that is reckoned with
  double false_verdicts_per_year = 1;  ///< of the whole cluster, at most; greater than 0
  /// Fixed, up to 200, and not below what `forgiven_pause` demands; 0: computed, and raised with the loss.
  std::uint32_t threshold_cycles = 0;
  /// A pause up to this long is never taken for a death: 1 s to 1 min.
  nanoseconds forgiven_pause = std::chrono::seconds(1);

  age_rule ages = age_rule::guarded_stamps;
  clock_rule clock = clock_rule::guarded;
  threshold_rule threshold = threshold_rule::computed;
  std::uint32_t retries = 2;         ///< other participants tried in a cycle that has got no reply, 0 to 8
  std::uint32_t reprobe_one_in = 8;  ///< share of pings that go to those held dead; 0: chosen like all others
  std::uint32_t fudge_cycles = 0;  ///< replies leave out what is fresher by so many (relative ages: one more)
  bool jitter = true;              ///< pings leave at times of their own within the interval
  bool stealth = true;             ///< a start is silent until others hold the life before it dead

  std::uint32_t most_message_bytes = 0;  ///< sealed; 0: what the port can carry
  message_seal* seal = nullptr;          ///< none: a checksum finds what was altered, not what was forged
  log_sink* log = nullptr;
};

/// Whether they can be used: `invalid_argument` names what is out of range, and its range.
status check(const options& chosen, const configuration& shared);

}  // namespace scoll::gossip
