#pragma once

#include <cstdint>
#include <memory>

#include "transport/security/certificate_names.hpp"
#include "transport/security/record_stream.hpp"
#include "transport/security/tls_material.hpp"
#include "transport/session/link_guard.hpp"

namespace scoll::transport {

/// A guard by TLS 1.3, which takes its bytes from memory. It keeps the secrets with which it began.
class tls_guard final : public link_guard {
 public:
  enum class side : std::uint8_t { connecting, accepting };

  /// So many records are sealed with one key; then it is changed. Each has at most 16 KiB, so this is far
  /// below what AES-GCM allows (2^24.5 records).
  static constexpr std::uint64_t records_per_key = std::uint64_t{1} << 22U;

  /// `key` is the one of mode `psk`; null in mode `tls`. It must be one of `material`. `opening` is the
  /// encoded `hello`, to which the guard is bound.
  static result<std::unique_ptr<link_guard>> make(std::shared_ptr<const tls_material> material,
                                                  const tls_psk* key, side at, const hello& opening,
                                                  std::uint64_t records = records_per_key) noexcept;
  ~tls_guard() override = default;

  bool proven() const noexcept override { return proven_; }
  const channel_hash& channel() const noexcept override { return channel_; }
  status speaks_for(std::string_view cluster, node_id node) const noexcept override;
  std::string_view client_name(std::string_view cluster) const noexcept override {
    return names_.client_of(cluster);
  }
  bool announces() const noexcept override { return side_ == side::accepting; }
  void feed(std::span<const std::byte> sealed) noexcept override { stream_.set_input(sealed); }
  result<std::size_t> open(std::span<std::byte> into) noexcept override;

  /// How often the sealing key was changed.
  std::uint64_t key_changes() const noexcept { return key_changes_; }

 private:
  tls_guard(std::shared_ptr<const tls_material> material, const tls_psk* key, side at,
            std::uint64_t records) noexcept
      : material_(std::move(material)), key_(key), side_(at), records_per_key_(records) {}

  status begin(const hello& opening) noexcept;
  status on_step(std::span<const std::byte> from_peer) noexcept override;
  std::size_t seal_records(std::span<const std::byte> plain, std::span<std::byte> into) noexcept override;
  status advance() noexcept;
  status finish() noexcept;
  bool bind_channel() noexcept;
  bool absorb(std::span<const std::byte> bytes) noexcept;
  error handshake_failure() noexcept;

  static int offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** id, std::size_t* id_size,
                       SSL_SESSION** session) noexcept;
  static int find_key(SSL* ssl, const unsigned char* id, std::size_t id_size, SSL_SESSION** session) noexcept;

  std::shared_ptr<const tls_material> material_;
  const tls_psk* key_;
  side side_;
  bool proven_ = false;
  std::uint64_t records_per_key_;
  std::uint64_t records_ = 0;
  std::uint64_t key_changes_ = 0;
  record_stream stream_;
  ssl_ptr ssl_;
  digest_ptr transcript_;
  channel_hash channel_{};
  certificate_names names_;
};

}  // namespace scoll::transport
