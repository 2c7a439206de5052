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
  stealth,  ///< listens, and sends nothing
  active,
  stopped,
};

std::string_view to_string(participation p) noexcept;

/// The whole state at one moment.
struct snapshot {
  std::uint64_t epoch = 0;  ///< of the latest event; equal epochs mean equal states of all participants
  participation stage = participation::idle;
  participant_index self = nobody;
  std::uint64_t incarnation = 0;
  std::uint64_t clock = 0;   ///< cluster cycle
  std::uint64_t cycles = 0;  ///< own
  std::uint32_t threshold = 0;
  double loss = 0;
  withheld reason = withheld::no;
  std::uint32_t alive = 0;  ///< others, as `dead` and `unknown`
  std::uint32_t dead = 0;
  std::uint32_t unknown = 0;
  counters counts;
  std::vector<verdict> members;  ///< by index; one's own is alive with age 0
};

}  // namespace scoll::gossip
