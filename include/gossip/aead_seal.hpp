#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gossip/message_seal.hpp"
#include "transport/security/key_ring.hpp"

namespace scoll::transport {
class file_watch;
}

namespace scoll::gossip {

/// Seals messages with the keys of a cluster. It uses AES-256-GCM over the body, which it encrypts; the head,
/// which stays readable; and the receiver, whose life is not in the message. The key's id (4 bytes) and the
/// tag (16 bytes) follow the body.
///
/// Each life of each participant seals with its own key, an HMAC-SHA256 of cluster key, sender's id and
/// incarnation. The message's number in that life is the nonce, so a nonce cannot repeat as long as
/// incarnations grow; it depends on nothing random. A seal takes 56 bytes per participant. After the first
/// message of a life it derives and allocates nothing. Thread: one.
class aead_seal final : public message_seal {
 public:
  static constexpr std::size_t tag_bytes = 16;
  static constexpr std::size_t key_id_bytes = 4;

  /// `keys` must have at least one key.
  aead_seal(transport::key_ring keys, std::uint32_t participants);
  ~aead_seal();

  /// Replaces the keys. Messages under way that an old key has sealed are still opened if the new ring has
  /// that key.
  void set_keys(transport::key_ring keys) noexcept;
  /// Takes the keys from this file now, and again when it has changed: when a message is sealed or opened, at
  /// most once per `interval`, which blocks. A file that cannot be used changes nothing. Nodes
  /// follow the file of `security.keys` likewise.
  void follow(std::string file, std::chrono::steady_clock::duration interval = std::chrono::seconds(1));
  const transport::key_ring& keys() const noexcept { return keys_; }

  /// Messages refused because their key is not in the ring. The participant counts them as not authentic too.
  std::uint64_t unknown_key() const noexcept { return unknown_key_; }

  std::size_t overhead() const noexcept override { return key_id_bytes + tag_bytes; }
  bool seal(const seal_context& context, std::span<const std::byte> head,
            std::span<std::byte> body) noexcept override;
  bool open(const seal_context& context, std::span<const std::byte> head,
            std::span<std::byte> sealed) noexcept override;

 private:
  struct life_key {
    bool is_of(const seal_context& context) const noexcept {
      return known && sender == context.sender_id && incarnation == context.incarnation;
    }
    participant_id sender = 0;
    std::uint64_t incarnation = 0;
    std::uint32_t key = 0;
    bool known = false;
    std::array<unsigned char, 32> secret{};
  };
  class cipher;

  void refresh() noexcept;
  static bool derive(const transport::cluster_key& from, const seal_context& context,
                     life_key& into) noexcept;

  transport::key_ring keys_;
  life_key own_;
  std::vector<life_key> heard_;  // by the sender's index; taken from authentic messages only
  std::unique_ptr<cipher> cipher_;
  std::string file_;
  std::unique_ptr<transport::file_watch> watch_;  // null: no file is followed
  std::uint64_t unknown_key_ = 0;
};

}  // namespace scoll::gossip
