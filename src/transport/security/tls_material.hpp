#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "transport/security/key_ring.hpp"
#include "transport/security/openssl.hpp"
#include "transport/security/security_options.hpp"
#include "transport/security/security_snapshot.hpp"

namespace scoll::transport {

/// For OpenSSL a key stands for the session of an earlier connection, whose context must be that of the SSL_CTX.
inline constexpr std::array<unsigned char, 5> psk_context{'s', 'c', 'o', 'l', 'l'};

/// A key of the ring, as TLS uses it. The secret is derived, so that gossip and connections share none.
struct tls_psk {
  std::uint32_t id = 0;  ///< that of the `cluster_key`
  std::array<unsigned char, 32> secret{};
  std::array<unsigned char, 8> name{};  ///< the id as the TLS handshake says it
};

/// The secrets of a node, as they were read at one time. Guards keep those with which they began.
class tls_material {
 public:
  /// Reads all files that the options name. Errors: `invalid_argument`, `io_error`.
  /// Guards add what they see to `counts`.
  static result<std::shared_ptr<const tls_material>> read(
      const security_options& options, std::string_view cluster,
      std::shared_ptr<security_counts> counts = std::make_shared<security_counts>());
  /// The same in mode `psk`, with a ring that has been read.
  static result<std::shared_ptr<const tls_material>> of_ring(
      const key_ring& ring, std::string_view cluster,
      std::shared_ptr<security_counts> counts = std::make_shared<security_counts>());
  explicit tls_material(std::shared_ptr<security_counts> counts) noexcept : counts_(std::move(counts)) {}
  ~tls_material();
  tls_material(const tls_material&) = delete;
  tls_material& operator=(const tls_material&) = delete;

  SSL_CTX* context() const noexcept { return context_.get(); }
  /// The key that this node offers. Mode `psk` only.
  const tls_psk& offered() const noexcept { return keys_.front(); }
  /// Finds a key by its id; null if it is not in the ring.
  const tls_psk* find(std::uint32_t id) const noexcept;
  /// The ids of all keys of the ring, in both modes.
  std::span<const std::uint32_t> key_ids() const noexcept { return key_ids_; }
  security_counts& counts() const noexcept { return *counts_; }
  /// The seconds for which this node's certificate is still valid; nothing in mode `psk`.
  std::optional<std::int64_t> seconds_left() const noexcept;

 private:
  static result<std::shared_ptr<tls_material>> make(const key_ring& ring,
                                                    std::shared_ptr<security_counts> counts);
  status take_keys(const key_ring& ring, std::string_view cluster);
  status take_certificate(const security_options& options);

  std::shared_ptr<security_counts> counts_;
  ssl_context_ptr context_;
  std::vector<std::uint32_t> key_ids_;
  std::vector<tls_psk> keys_;
};

}  // namespace scoll::transport
