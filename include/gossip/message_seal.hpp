#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

/// Whom a message is for. It is not in the message, but what makes it whole is made with it: a copy is
/// nothing to anybody else, nor is a reply to a later life of who pinged. By address, since who has another
/// list of participants counts them differently.
struct addressee {
  std::string_view address;
  std::uint64_t life = 0;  ///< a reply: the incarnation of who pinged; a ping: 0
};

/// Who sent a message, which of its messages it is, and whom it is for. The first three are never the same
/// twice, over all lives of a participant whose incarnations grow: what a nonce is made of.
struct seal_context {
  participant_index sender = nobody;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;  ///< of the sender's life, from 1
  std::uint64_t cycle = 0;     ///< the sender's cluster clock
  addressee receiver{};
};

/// Authenticates, and may encrypt, every message on its way out, and refuses what is not authentic on its way
/// in. One call per datagram, in place, without allocation. Outlives the participant that uses it.
class message_seal {
 public:
  message_seal(const message_seal&) = delete;
  message_seal& operator=(const message_seal&) = delete;

  /// Bytes that a sealed message is longer than a plain one; the same for all.
  virtual std::size_t overhead() const noexcept = 0;
  /// `head` stays as it is, in the clear, and is authenticated, as is all of `context`. `body` is
  /// authenticated, may be encrypted in place, and has `overhead()` bytes of room behind its end, which are
  /// to be written. False: the message is not sent.
  virtual bool seal(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> body) noexcept = 0;
  /// `sealed` is the body with the overhead behind it, and is decrypted in place. The plain body is its
  /// beginning, `overhead()` bytes shorter. `context` is what the head claims, and who receives it. False:
  /// not authentic; the message is counted and dropped.
  virtual bool open(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> sealed) noexcept = 0;

 protected:
  message_seal() noexcept = default;
  ~message_seal() = default;
};

}  // namespace scoll::gossip
