#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "member/configuration.hpp"

namespace scoll::gossip {

/// Who sent a message, and which of its messages it is. Never the same twice, over all lives of a participant
/// whose incarnations grow: what a nonce is made of.
struct seal_context {
  participant_index sender = nobody;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;  ///< of the sender's life, from 1
  std::uint64_t cycle = 0;     ///< the sender's cluster clock
};

/// Authenticates, and may encrypt, every message on its way out, and refuses what is not authentic on its way
/// in (`T7`). One call per datagram, in place, without allocation. Outlives the participant that uses it.
class message_seal {
 public:
  message_seal(const message_seal&) = delete;
  message_seal& operator=(const message_seal&) = delete;

  /// Bytes that a sealed message is longer than a plain one; the same for all.
  virtual std::size_t overhead() const noexcept = 0;
  /// `head` stays as it is, in the clear, and is authenticated. `body` is authenticated, may be encrypted in
  /// place, and has `overhead()` bytes of room behind its end, which are to be written. False: the message is
  /// not sent.
  virtual bool seal(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> body) noexcept = 0;
  /// `sealed` is the body with the overhead behind it, and is decrypted in place. The plain body is its
  /// beginning, `overhead()` bytes shorter. `context` is what the head claims. False: not authentic; the
  /// message is counted and dropped.
  virtual bool open(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> sealed) noexcept = 0;

 protected:
  message_seal() noexcept = default;
  ~message_seal() = default;
};

}  // namespace scoll::gossip
