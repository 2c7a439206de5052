#pragma once

#include <cstdint>
#include <string_view>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

enum class liveness : std::uint8_t {
  unknown,  ///< never heard of
  alive,
  dead,
};

/// The result of this participant's own attempts to reach another one; `liveness` says whether anyone hears
/// it.
enum class reachability : std::uint8_t {
  untried,
  reachable,    ///< it answered this participant's latest ping, or has been heard directly since
  unreachable,  ///< it did not answer the latest ping
};

std::string_view to_string(liveness state) noexcept;
std::string_view to_string(reachability reach) noexcept;

/// Why verdicts are withheld at present; states stay as they are meanwhile.
enum class withheld : std::uint8_t {
  no,
  stealth,     ///< just started: silent, or active for fewer cycles than the threshold
  gap,         ///< this process paused or its clock jumped, and two cycles have not been answered since
  no_replies,  ///< most of the recent cycles had no reply, so the fault may be here
};

std::string_view to_string(withheld why) noexcept;

/// All that is known of one participant, with the reasons for its state. Cycles are those of the cluster
/// clock; `never` if there is none.
struct verdict {
  static constexpr std::uint64_t never = UINT64_MAX;
  static constexpr std::uint32_t no_age = UINT32_MAX;

  participant_index who = nobody;
  liveness state = liveness::unknown;
  std::uint64_t incarnation = 0;
  std::uint32_t aliveness = 0;
  /// The age in cycles; from 254 on the real age may be higher.
  std::uint32_t age = no_age;
  /// When it was last heard, directly or through others: the clock less the age.
  std::uint64_t last_heard = never;
  /// When this participant last heard from it directly.
  std::uint64_t last_direct = never;

  // When the state last changed:
  std::uint64_t since = never;
  std::uint32_t age_then = no_age;
  std::uint32_t threshold_then = 0;
  double loss_then = 0;

  // Now
  /// An age above this means dead.
  std::uint32_t threshold = 0;
  /// The estimated share of lost messages.
  double loss = 0;
  withheld reason = withheld::no;

  reachability reach = reachability::untried;
  /// When this participant last pinged it.
  std::uint64_t last_tried = never;
  /// Pings in a row without an answer.
  std::uint32_t unanswered = 0;
};

}  // namespace scoll::gossip
