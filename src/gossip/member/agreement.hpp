#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

/// What somebody else says of the configuration, in full.
struct claim {
  std::uint16_t version = 0;
  std::uint32_t interval_ms = 0;
  std::uint32_t participants = 0;
  configuration_digest list{};  ///< of the addresses
};

/// The first in which two configurations differ.
enum class parameter : std::uint8_t { none, version, interval, participants };
std::string_view to_string(parameter p) noexcept;

claim claim_of(const configuration& shared) noexcept;
parameter difference(const claim& own, const claim& other) noexcept;

/// Who stops when configurations differ: the newcomer, at once when somebody who is established says
/// so in full; an established participant only when most of those it has heard lately disagree. With two
/// newcomers nobody is right by itself, so there the most decide as well. What is old must not be heard.
class agreement {
 public:
  explicit agreement(std::uint32_t participants) noexcept;

  /// `established`: what the other says of itself. `in_full`: whether it named its parameters.
  enum class outcome : std::uint8_t { agrees, differs, stop };
  outcome hear(participant_index from, bool agrees, bool established, bool in_full) noexcept;

  /// Has been agreed with by three others, or by all if they are fewer.
  bool established() const noexcept { return established_; }

 private:
  struct opinion {
    participant_index from = nobody;
    bool agrees = false;
  };
  static constexpr std::size_t remembered = 16;

  void remember(participant_index from, bool agrees) noexcept;

  std::array<opinion, remembered> opinions_{};
  std::size_t next_ = 0;
  std::uint32_t quorum_;
  bool established_ = false;
};

}  // namespace scoll::gossip
