#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "gossip/configuration.hpp"

namespace scoll::gossip {

/// The receiver of a message, with which the message is authenticated. So no other participant accepts a
/// copy, on whichever of its addresses it arrives, and no later life of the sender of a ping accepts the
/// reply to it. The head names the id, but not the life.
struct addressee {
  participant_id id = 0;
  std::uint64_t life = 0;  ///< a reply: the incarnation that sent the ping; a ping: 0
};

/// The sender of a message, the message's number, and its receiver. The sender's id, incarnation and sequence
/// are never the same twice, over all lives of a participant whose incarnations grow. A nonce can be made of
/// them.
struct seal_context {
  /// The index that the sender gives itself, which means something only if both have the same configuration.
  participant_index sender = nobody;
  participant_id sender_id = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t sequence = 0;  ///< within the sender's life, from 1
  std::uint64_t cycle = 0;     ///< the sender's cluster clock
  addressee receiver{};
};

/// Authenticates, and may encrypt, every outgoing message, and refuses incoming messages that are not
/// authentic. It is called once per datagram, works in place and does not allocate. It must outlive the
/// participant that uses it.
class message_seal {
 public:
  message_seal(const message_seal&) = delete;
  message_seal& operator=(const message_seal&) = delete;

  /// The number of bytes by which a sealed message is longer than a plain one; constant.
  virtual std::size_t overhead() const noexcept = 0;
  /// Seals a message. `head` stays in the clear and is authenticated, and so is all of `context`. `body` is
  /// authenticated and may be encrypted in place; `overhead()` bytes of room follow it, and the seal must
  /// write them. If it returns false, the message is not sent.
  virtual bool seal(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> body) noexcept = 0;
  /// Opens a message. `sealed` is the body followed by the overhead; it is decrypted in place, and its
  /// beginning, `overhead()` bytes shorter, becomes the plain body. `context` holds what the head claims, and
  /// the actual receiver. If it returns false, the message is not authentic: it is counted and dropped.
  virtual bool open(const seal_context& context, std::span<const std::byte> head,
                    std::span<std::byte> sealed) noexcept = 0;

 protected:
  message_seal() noexcept = default;
  ~message_seal() = default;
};

}  // namespace scoll::gossip
