#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "transport/verbs/datagrams/datagram_name.hpp"
#include "transport/verbs/verbs_api.hpp"

/// What ports of datagrams say to each other (docs/wire.md).
namespace scoll::transport::verbs {

/// The first bytes of each datagram: who has sent it.
struct datagram_header {
  static constexpr std::uint32_t right_magic = 0x44555353;  // "SSUD"

  std::uint32_t magic = right_magic;
  std::uint16_t reserved = 0;
  std::uint16_t port = 0;               // of the sender's name
  std::array<std::uint8_t, 16> host{};  // of the sender's name
  std::uint64_t epoch = 0;              // of the sender's queue pair

  friend bool operator==(const datagram_header&, const datagram_header&) noexcept = default;
};
inline constexpr std::size_t datagram_header_bytes = 32;

/// Where a name leads. The epoch is a number at random, and never 0: it is another one whenever the queue pair
/// is, though its number may come back.
struct whereabouts {
  std::array<std::uint8_t, 16> address{};
  std::uint32_t queue_pair = 0;
  std::uint32_t queue_key = 0;
  std::uint32_t mtu = 0;  // in bytes
  std::uint16_t lid = 0;
  std::uint16_t reserved = 0;
  std::uint64_t epoch = 0;

  friend bool operator==(const whereabouts&, const whereabouts&) noexcept = default;
};

/// A question for where a name leads, or the answer. Both are of one size, so that nobody who asks under a false
/// address makes more bytes arrive there than it has sent.
struct name_message {
  static constexpr std::uint32_t right_magic = 0x4e555353;  // "SSUN"
  static constexpr std::uint8_t right_version = 1;
  enum class what : std::uint8_t { question = 1, answer = 2 };

  std::uint32_t magic = right_magic;
  std::uint8_t version = right_version;
  what kind = what::question;
  std::uint16_t reserved = 0;
  std::uint64_t nonce = 0;
  whereabouts where{};         // of a question: all zero
  std::uint64_t checksum = 0;  // XXH3 of all bytes before it

  friend bool operator==(const name_message&, const name_message&) noexcept = default;
};
inline constexpr std::size_t name_message_bytes = 64;

constexpr bool wire_valid(name_message::what kind) noexcept {
  return kind == name_message::what::question || kind == name_message::what::answer;
}

using header_bytes = std::span<std::byte, datagram_header_bytes>;
void write_header(header_bytes into, const datagram_header& header) noexcept;
/// Nothing if the bytes are no header that this version understands.
std::optional<datagram_header> read_header(std::span<const std::byte> bytes) noexcept;

std::array<std::byte, name_message_bytes> encoded(name_message message) noexcept;
/// Nothing if the bytes are no message that this version understands, or were altered on the way.
std::optional<name_message> read_name_message(std::span<const std::byte> bytes) noexcept;

}  // namespace scoll::transport::verbs
