#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "gossip/configuration.hpp"
#include "gossip/member/agreement.hpp"
#include "gossip/member/incarnations.hpp"
#include "gossip/message_seal.hpp"
#include "scoll/coro/result.hpp"

/// The messages on the wire (docs/wire.md, "Gossip"): a head of fixed size, then the parts that its flags and
/// sizes name.

namespace scoll::gossip {

enum class message_kind : std::uint8_t { ping = 1, reply = 2 };

/// The first bytes of a configuration's digest, in every message.
using short_digest = std::array<std::byte, 16>;
short_digest shortened(const configuration_digest& digest) noexcept;

/// The fixed part, which stays in the clear even when messages are sealed.
struct message_head {
  static constexpr std::size_t bytes = 80;
  static constexpr std::uint32_t magic = 0x50474353;  ///< "SCGP"

  std::uint16_t version = protocol_version;
  message_kind kind = message_kind::ping;
  bool in_full = false;      ///< the configuration follows
  bool obsolete = false;     ///< a reply: the ping was too old to be read
  bool asks = false;         ///< a ping: it asks for lives, from `asked` on
  bool established = false;  ///< the sender knows that others agree with its configuration
  bool objects = false;      ///< a reply: the ping was of another configuration
  std::uint16_t sender = 0;
  std::uint8_t loss = 0;  ///< the loss that the sender estimates, in 1/255
  std::uint32_t asked = 0;
  std::uint64_t clock = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;
  std::uint64_t echo = 0;  ///< a reply: the sequence of the ping; else 0
  short_digest digest{};
  participant_id sender_id = 0;
  /// The receiver's id, as the sender's list has it.
  participant_id receiver_id = 0;
};

/// The entries from `first` to before `first + count` of a vector. Entries that are not sent are
/// `never_heard`.
struct vector_part {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

/// A checked message: everything in it is within its bounds. It refers to the bytes that it was decoded from.
struct message_view {
  message_head head;
  claim configuration;  ///< if `head.in_full`
  vector_part part;
  bool dense = false;
  /// all ages if dense, else a bit for each entry and the ages of those set
  std::span<const std::byte> entries;
  std::span<const std::byte> lives;  ///< `life_bytes` each
  std::uint32_t table_first = 0;
  std::span<const std::byte> table;  ///< incarnations, 8 bytes each

  std::size_t life_count() const noexcept { return lives.size() / life_bytes; }
  life life_at(std::size_t index) const noexcept;
  std::size_t table_count() const noexcept { return table.size() / 8; }
  std::uint64_t table_at(std::size_t index) const noexcept;
  /// Writes the ages of all entries of the part to `ages`, which has room for `part.count`. False if there
  /// are none.
  bool ages(std::span<std::uint8_t> ages) const noexcept;

  static constexpr std::size_t life_bytes = 10;
};

inline constexpr std::size_t checksum_bytes = 8;
inline constexpr std::size_t claim_bytes = 40;
/// The most bytes of everything but the entries and the table.
inline constexpr std::size_t most_overhead =
    message_head::bytes + claim_bytes + 12 + 4 + incarnations::most_told * message_view::life_bytes + 8;

/// The sender that a message claims; `nobody` if it is too short. Nothing is checked.
participant_index claimed_sender(std::span<const std::byte> bytes) noexcept;

/// Decodes the head, whose form only a new version of the protocol can change. Error: `malformed` if it is no
/// message.
result<message_head> decode_head(std::span<const std::byte> bytes) noexcept;
/// Decodes a body and checks it against `participants`. `body` is what follows the head, without seal and
/// checksum.
result<message_view> decode_body(const message_head& head, std::span<const std::byte> body,
                                 std::uint32_t participants) noexcept;

/// Writes a message from its beginning to its end. There must be room for everything.
class message_writer {
 public:
  /// `room` does not include the seal or checksum.
  explicit message_writer(std::span<std::byte> room) noexcept : room_(room) {}

  void head(const message_head& h) noexcept;
  void configuration(const claim& c) noexcept;
  void no_entries() noexcept;
  void all_entries(vector_part part, const std::uint8_t* ages) noexcept;
  /// Writes the entries that are not `never_heard`, as a bitmap or all, whichever is shorter. `ages` are
  /// those of the part only.
  void entries(vector_part part, const std::uint8_t* ages) noexcept;
  void lives(std::span<const life> lives) noexcept;
  /// Writes as many incarnations as there is room for, and no more than `most`.
  void table(std::uint32_t first, std::span<const std::uint64_t> incarnations, std::size_t most) noexcept;

  std::size_t size() const noexcept { return size_; }

 private:
  void part_head(vector_part part, std::uint8_t form) noexcept;
  template <class T>
  void put(T value) noexcept;
  void put(std::span<const std::byte> bytes) noexcept;

  std::span<std::byte> room_;
  std::size_t size_ = 0;
};

/// Appends the checksum to `size` bytes, which must leave room for it. Returns the new size.
std::size_t add_checksum(std::span<std::byte> buffer, std::size_t size, const addressee& receiver) noexcept;
/// The bytes without their checksum, if it is right and meant for this receiver.
std::optional<std::span<const std::byte>> without_checksum(std::span<const std::byte> bytes,
                                                           const addressee& receiver) noexcept;

}  // namespace scoll::gossip
