#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gossip/configuration.hpp"
#include "gossip/event.hpp"

namespace scoll::gossip {

/// The full configuration that another participant claims.
struct claim {
  std::uint16_t version = 0;
  std::uint32_t interval_ms = 0;
  std::uint32_t participants = 0;
  configuration_digest list{};  ///< the digest of ids and addresses
};

claim claim_of(const configuration& shared) noexcept;
/// The first parameter in which two configurations differ.
parameter difference(const claim& own, const claim& other) noexcept;

/// Decides which participant stops when configurations differ. A newcomer stops at once when an established
/// participant states its configuration in full. An established participant stops only when most of those it
/// has heard lately disagree. If both are newcomers, neither is right by itself, so the majority decides as
/// well. Old messages must not be counted.
class agreement {
 public:
  explicit agreement(std::uint32_t participants) noexcept;

  /// `established`: the other says so of itself. `in_full`: the other named its parameters.
  enum class outcome : std::uint8_t { agrees, differs, stop };
  outcome hear(participant_index from, bool agrees, bool established, bool in_full) noexcept;

  /// True once three others have agreed, or all if they are fewer.
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
