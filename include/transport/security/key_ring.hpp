#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"

namespace scoll::transport {

/// One secret of a cluster, and the short public id by which messages name it.
struct cluster_key {
  static constexpr std::size_t secret_bytes = 32;

  std::array<std::byte, secret_bytes> secret{};
  std::uint32_t id = 0;  ///< from a SHA-256 of the secret

  static cluster_key of(std::span<const std::byte, secret_bytes> secret) noexcept;
};

/// The secrets of a cluster, which protect its gossip and, in the mode `psk`, its connections. The first one
/// seals what is sent; all of them open what arrives. Changing a key without a pause takes three steps, each
/// completed everywhere before the next: add the new key behind the others, move it to the front, remove the
/// old one. A ring holds at most `most_keys`. Its memory is wiped when it is destroyed.
class key_ring {
 public:
  static constexpr std::size_t most_keys = 8;

  key_ring() noexcept = default;
  key_ring(const key_ring&) = default;
  key_ring(key_ring&&) noexcept = default;
  key_ring& operator=(const key_ring&) = default;
  key_ring& operator=(key_ring&&) noexcept = default;
  ~key_ring();

  /// Reads keys from lines of 64 hexadecimal digits each; `#` begins a comment. Error: `invalid_argument`
  /// (not a key, a key twice, too many keys, no keys at all); the text names the line but never its content.
  static result<key_ring> parse(std::string_view text);
  /// Reads keys from a file, which must belong to this user or to root and be closed to all others (mode 0600
  /// or less). It blocks. Errors: `invalid_argument`, `io_error`.
  static result<key_ring> read(const std::string& path);

  bool empty() const noexcept { return keys_.empty(); }
  std::span<const cluster_key> keys() const noexcept { return keys_; }
  /// The key that seals. The ring must not be empty.
  const cluster_key& sealing() const noexcept { return keys_.front(); }
  /// Finds a key by its id; null if it is not in the ring.
  const cluster_key* find(std::uint32_t id) const noexcept;

 private:
  std::vector<cluster_key> keys_;
};

}  // namespace scoll::transport
