#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"

namespace scoll::gossip {

/// One secret of a cluster, and the short public name that messages carry for it.
struct cluster_key {
  static constexpr std::size_t secret_bytes = 32;

  std::array<std::byte, secret_bytes> secret{};
  std::uint32_t id = 0;  ///< from a SHA-256 of the secret

  static cluster_key of(std::span<const std::byte, secret_bytes> secret) noexcept;
};

/// The secrets that protect a cluster's gossip: the first seals what is sent, all of them open what arrives.
/// A key is changed without a pause in three steps, each of them everywhere before the next: add it behind
/// the others, move it to the front, remove the old one. At most `most_keys`. The memory is wiped at the end.
class key_ring {
 public:
  static constexpr std::size_t most_keys = 8;

  key_ring() noexcept = default;
  key_ring(const key_ring&) = default;
  key_ring(key_ring&&) noexcept = default;
  key_ring& operator=(const key_ring&) = default;
  key_ring& operator=(key_ring&&) noexcept = default;
  ~key_ring();

  /// Reads lines of 64 hexadecimal digits each; `#` begins a comment. Errors: `invalid_argument` names the
  /// line (never its content): no key, a key twice, too many keys, no keys at all.
  static result<key_ring> parse(std::string_view text);
  /// The same from a file, which must belong to this user or to root and be closed to everybody else (mode
  /// 0600 or less). Blocking. Errors: `invalid_argument`, `io_error`.
  static result<key_ring> read(const std::string& path);

  bool empty() const noexcept { return keys_.empty(); }
  std::span<const cluster_key> keys() const noexcept { return keys_; }
  /// Of a ring that is not empty.
  const cluster_key& sealing() const noexcept { return keys_.front(); }
  /// Null if it is not in the ring.
  const cluster_key* find(std::uint32_t id) const noexcept;

 private:
  std::vector<cluster_key> keys_;
};

}  // namespace scoll::gossip
