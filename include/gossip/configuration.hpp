#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The position of a participant in the canonical order, which is the same at every participant.
using participant_index = std::uint32_t;
inline constexpr participant_index nobody = UINT32_MAX;

inline constexpr std::uint32_t most_participants = 65536;
inline constexpr nanoseconds least_interval = std::chrono::milliseconds(200);
inline constexpr nanoseconds longest_interval = std::chrono::minutes(10);
/// The version of the messages and of the rules behind them. It must be the same at all participants.
inline constexpr std::uint16_t protocol_version = 1;

/// The SHA-256 of version, interval and the addresses in canonical order.
using configuration_digest = std::array<std::byte, 32>;

/// The configuration that all participants must share: protocol version, interval and participants. Immutable
/// and shared.
class configuration {
 public:
  /// Makes a configuration. `participants` are addresses spelled as their port prints them, in any order.
  /// Errors: `invalid_argument` (the interval is outside 200 ms to 10 min or no whole number of milliseconds,
  /// the list is empty, or a name is empty or longer than 255 bytes), `duplicate_target` (naming it),
  /// `too_large` (naming the limit).
  static result<std::shared_ptr<const configuration>> make(std::vector<std::string> participants,
                                                           nanoseconds interval);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(participants_.size()); }
  nanoseconds interval() const noexcept { return interval_; }
  std::uint16_t version() const noexcept { return protocol_version; }

  /// A participant's address. The canonical order compares runs of digits as numbers and all else as bytes.
  const std::string& address(participant_index index) const noexcept { return participants_[index]; }
  std::optional<participant_index> index_of(std::string_view address) const noexcept;

  const configuration_digest& digest() const noexcept { return digest_; }
  /// The digest of the addresses alone; it tells a different list from a different interval.
  const configuration_digest& participants_digest() const noexcept { return participants_digest_; }

 private:
  configuration() = default;

  std::vector<std::string> participants_;
  nanoseconds interval_{0};
  configuration_digest digest_{};
  configuration_digest participants_digest_{};
};

using configuration_ptr = std::shared_ptr<const configuration>;

}  // namespace scoll::gossip
