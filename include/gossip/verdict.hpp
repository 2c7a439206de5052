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

/// Whether I reach it myself; that others do is `liveness`.
enum class reachability : std::uint8_t {
  untried,
  reachable,    ///< it answered my latest ping, or has been heard directly since
  unreachable,  ///< it did not
};

std::string_view to_string(liveness state) noexcept;
std::string_view to_string(reachability reach) noexcept;

/// Why verdicts are not given at present; what is held stays held.
enum class withheld : std::uint8_t {
  no,
  stealth,     ///< just started: silent, or not active for as many cycles as the threshold has
  gap,         ///< this process or its clock made a jump, and two cycles were not answered since
  no_replies,  ///< most of the recent cycles got no reply: it may be me
};

std::string_view to_string(withheld why) noexcept;

/// All that is known of one participant, and why it is held to be what it is. Cycles are those
/// of the cluster clock; `never` if there is none.
struct verdict {
  static constexpr std::uint64_t never = UINT64_MAX;
  static constexpr std::uint32_t no_age = UINT32_MAX;

  participant_index who = nobody;
  liveness state = liveness::unknown;
  std::uint64_t incarnation = 0;
  std::uint32_t aliveness = 0;
  std::uint32_t age = no_age;         ///< cycles; at least so many from 254 on
  std::uint64_t last_heard = never;   ///< of, directly or through others: the clock less the age
  std::uint64_t last_direct = never;  ///< from it, by me

  // When the state became what it is
  std::uint64_t since = never;
  std::uint32_t age_then = no_age;
  std::uint32_t threshold_then = 0;
  double loss_then = 0;

  // Now
  std::uint32_t threshold = 0;  ///< an age above it means dead
  double loss = 0;              ///< estimated share of messages that are lost
  withheld reason = withheld::no;

  reachability reach = reachability::untried;
  std::uint64_t last_tried = never;  ///< pinged by me
  std::uint32_t unanswered = 0;      ///< pings in a row
};

}  // namespace scoll::gossip
