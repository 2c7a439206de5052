#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "gossip/configuration.hpp"
#include "gossip/counters.hpp"
#include "gossip/verdict.hpp"

namespace scoll::gossip {

enum class participation : std::uint8_t {
  idle,     ///< not started
  stealth,  ///< it listens and sends nothing
  active,
  stopped,
};

std::string_view to_string(participation p) noexcept;

/// The whole state of a participant at one moment.
struct snapshot {
  /// The epoch of the latest event; equal epochs mean equal states of all participants.
  std::uint64_t epoch = 0;
  participation stage = participation::idle;
  participant_index self = nobody;
  std::uint64_t incarnation = 0;
  /// The cluster clock, in cycles.
  std::uint64_t clock = 0;
  /// The participant's own cycles so far.
  std::uint64_t cycles = 0;
  std::uint32_t threshold = 0;
  double loss = 0;
  /// The own rail that answered last: the position of its address.
  std::uint32_t rail = 0;
  withheld reason = withheld::no;
  /// Other participants held alive; `dead` and `unknown` likewise.
  std::uint32_t alive = 0;
  std::uint32_t dead = 0;
  std::uint32_t unknown = 0;
  counters counts;
  /// By participant index; the participant itself is alive with age 0.
  std::vector<verdict> members;
};

}  // namespace scoll::gossip
