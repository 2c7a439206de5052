#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The position of a participant in the canonical order, which is the same at every participant.
using participant_index = std::uint32_t;
inline constexpr participant_index nobody = UINT32_MAX;
/// The number by which a participant is known, whatever its addresses are. It is not 0.
using participant_id = std::uint64_t;

inline constexpr std::uint32_t most_participants = 65536;
/// The most addresses of one participant.
inline constexpr std::size_t most_addresses = 8;
inline constexpr nanoseconds least_interval = std::chrono::milliseconds(200);
inline constexpr nanoseconds longest_interval = std::chrono::minutes(10);
/// The version of the messages and of the rules behind them. It must be the same at all participants.
inline constexpr std::uint16_t protocol_version = 2;

/// The SHA-256 of version, interval, and the ids and addresses in canonical order.
using configuration_digest = std::array<std::byte, 32>;

/// One participant, as a list of participants names it.
struct participant_entry {
  /// 0: none is given.
  participant_id id = 0;
  /// 1 to 8 addresses, spelled as ports print them, in the order of the rails: the first addresses of all
  /// participants are in one network, and so are the second ones.
  std::vector<std::string> addresses;
};

/// The configuration that all participants must share: protocol version, interval and participants. Immutable
/// and shared.
class configuration {
 public:
  /// Makes a configuration of participants that have one address each. `participants` are addresses spelled
  /// as their port prints them, in any order. Their ids are 1, 2 and so on in the order of the addresses, in
  /// which runs of digits compare as numbers and all else as bytes. Errors: `invalid_argument` (the interval
  /// is outside 200 ms to 10 min or no whole number of milliseconds, the list is empty, or an address is
  /// empty or longer than 255 bytes), `duplicate_target` (naming it), `too_large` (naming the limit).
  static result<std::shared_ptr<const configuration>> make(std::vector<std::string> participants,
                                                           nanoseconds interval);
  /// Makes a configuration of participants that have ids, or of bare addresses if no entry has an id.
  /// Errors: those of `make`, `invalid_argument` (an entry has an id and another has none, has no address or
  /// more than 8, or has several and no id) and `duplicate_target` (an id is given twice).
  static result<std::shared_ptr<const configuration>> of_entries(std::vector<participant_entry> entries,
                                                                 nanoseconds interval);

  std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(ids_.size()); }
  nanoseconds interval() const noexcept { return interval_; }
  std::uint16_t version() const noexcept { return protocol_version; }

  /// A participant's id. The canonical order is that of the ids.
  participant_id id(participant_index index) const noexcept { return ids_[index]; }
  /// A participant's first address, by which people and logs know it.
  const std::string& address(participant_index index) const noexcept { return addresses_[begins_[index]]; }
  /// All addresses of a participant, by rail.
  std::span<const std::string> addresses(participant_index index) const noexcept {
    return std::span(addresses_).subspan(begins_[index], begins_[index + 1] - begins_[index]);
  }
  /// The participant that has the address, on whichever rail.
  std::optional<participant_index> index_of(std::string_view address) const noexcept;
  std::optional<participant_index> index_of_id(participant_id id) const noexcept;

  const configuration_digest& digest() const noexcept { return digest_; }
  /// The digest of ids and addresses alone; it tells a different list from a different interval.
  const configuration_digest& participants_digest() const noexcept { return participants_digest_; }

 private:
  configuration() = default;
  status take(std::vector<participant_entry> entries);
  status sort_addresses();

  std::vector<participant_id> ids_;     // in canonical order
  std::vector<std::string> addresses_;  // of the first participant, then of the second, and so on
  std::vector<std::uint32_t> begins_;   // by participant, and one more: its place in `addresses_`
  std::vector<std::uint32_t> by_text_;  // places in `addresses_`, in the order of the texts
  nanoseconds interval_{0};
  configuration_digest digest_{};
  configuration_digest participants_digest_{};
};

using configuration_ptr = std::shared_ptr<const configuration>;

}  // namespace scoll::gossip
