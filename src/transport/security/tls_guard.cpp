#include "transport/security/tls_guard.hpp"

#include <openssl/x509_vfy.h>

#include <algorithm>
#include <array>
#include <new>
#include <utility>

#include "scoll/coro/error_format.hpp"
#include "transport/security/tls_suite.hpp"
#include "transport/wire/wire.hpp"

namespace scoll::transport {
namespace {

constexpr std::string_view channel_label = "EXPORTER-scoll-channel";
constexpr std::size_t digest_bytes = 32;

/// The session that stands for an external key; null if it cannot be made.
SSL_SESSION* session_of(SSL* ssl, const tls_psk& key) noexcept {
  ssl_session_ptr made(SSL_SESSION_new());
  const SSL_CIPHER* const cipher = SSL_CIPHER_find(ssl, the_suite.number.data());
  const bool complete =
      made != nullptr && cipher != nullptr &&
      SSL_SESSION_set1_master_key(made.get(), key.secret.data(), key.secret.size()) == 1 &&
      SSL_SESSION_set1_id_context(made.get(), psk_context.data(), psk_context.size()) == 1 &&
      SSL_SESSION_set_cipher(made.get(), cipher) == 1 &&
      SSL_SESSION_set_protocol_version(made.get(), TLS1_3_VERSION) == 1;
  return complete ? made.release() : nullptr;
}

const tls_guard& guard_of(SSL* ssl) noexcept {
  return *static_cast<const tls_guard*>(SSL_get_app_data(ssl));
}

}  // namespace

result<std::unique_ptr<link_guard>> tls_guard::make(std::shared_ptr<const tls_material> material,
                                                    const tls_psk* key, side at, const hello& opening,
                                                    std::uint64_t records) noexcept {
  std::unique_ptr<tls_guard> made(new (std::nothrow) tls_guard(std::move(material), key, at, records));
  if (made == nullptr) return error(errc::busy, "this process has no memory for a guard");
  if (const status s = made->begin(opening); !s) return s.error();
  return std::unique_ptr<link_guard>(std::move(made));
}

status tls_guard::begin(const hello& opening) noexcept {
  const error failed(errc::io_error, "OpenSSL cannot begin a handshake");
  ssl_.reset(SSL_new(material_->context()));
  transcript_.reset(EVP_MD_CTX_new());
  if (ssl_ == nullptr || transcript_ == nullptr ||
      EVP_DigestInit_ex(transcript_.get(), EVP_sha256(), nullptr) != 1)
    return failed;
  SSL_set_app_data(ssl_.get(), this);
  BIO* const bio = stream_.make_bio();
  if (bio == nullptr) return failed;
  SSL_set_bio(ssl_.get(), bio, bio);
  if (key_ != nullptr && side_ == side::connecting) SSL_set_psk_use_session_callback(ssl_.get(), &offer_key);
  if (key_ != nullptr && side_ == side::accepting) SSL_set_psk_find_session_callback(ssl_.get(), &find_key);
  std::array<std::byte, wire::fixed_size<hello>> encoded;
  if (!wire::encode_to(encoded, opening) || !absorb(encoded)) return failed;
  if (side_ == side::accepting) {
    SSL_set_accept_state(ssl_.get());
    return {};
  }
  SSL_set_connect_state(ssl_.get());
  return advance();
}

int tls_guard::offer_key(SSL* ssl, const EVP_MD* digest, const unsigned char** id, std::size_t* id_size,
                         SSL_SESSION** session) noexcept {
  const tls_psk& key = *guard_of(ssl).key_;
  *session = nullptr;
  if (digest != nullptr && EVP_MD_get_type(digest) != the_suite.digest) return 1;
  *session = session_of(ssl, key);
  *id = key.name.data();
  *id_size = key.name.size();
  return *session == nullptr ? 0 : 1;
}

int tls_guard::find_key(SSL* ssl, const unsigned char* id, std::size_t id_size,
                        SSL_SESSION** session) noexcept {
  const tls_psk& key = *guard_of(ssl).key_;
  *session = nullptr;
  if (!std::equal(id, id + id_size, key.name.begin(), key.name.end())) return 1;
  *session = session_of(ssl, key);
  return *session == nullptr ? 0 : 1;
}

/// Whatever the sides say to each other goes into the channel's hash, the parts that TLS ignores too.
bool tls_guard::absorb(std::span<const std::byte> bytes) noexcept {
  return EVP_DigestUpdate(transcript_.get(), bytes.data(), bytes.size()) == 1;
}

status tls_guard::on_step(std::span<const std::byte> from_peer) noexcept {
  if (proven_) return error(errc::malformed, "a step of a guard behind the last one");
  if (!absorb(from_peer)) return error(errc::io_error, "OpenSSL cannot hash");
  stream_.set_input(from_peer);
  return advance();
}

status tls_guard::advance() noexcept {
  stream_.forget_collected();
  ERR_clear_error();
  const int done = SSL_do_handshake(ssl_.get());
  const bool waits = done != 1 && SSL_get_error(ssl_.get(), done) == SSL_ERROR_WANT_READ;
  tell(stream_.collected());
  if (done != 1 && !waits) return handshake_failure();
  if (!stream_.input_empty()) return error(errc::malformed, "bytes behind the last step of a guard");
  if (stream_.collected().size() > most_steps * most_step_bytes)
    return error(errc::too_large, "the certificates are too long for the steps of a guard");
  if (!absorb(stream_.collected())) return error(errc::io_error, "OpenSSL cannot hash");
  return done == 1 ? finish() : status{};
}

error tls_guard::handshake_failure() noexcept {
  const long verdict = SSL_get_verify_result(ssl_.get());
  const std::string_view reason = openssl_reason();
  if (key_ == nullptr && verdict != X509_V_OK) {
    if (verdict == X509_V_ERR_CERT_HAS_EXPIRED || verdict == X509_V_ERR_CERT_NOT_YET_VALID)
      ++material_->counts().outdated;
    return make_error(errc::not_authentic, "the certificate: {}", X509_verify_cert_error_string(verdict));
  }
  return make_error(errc::not_authentic, "the proof: {}", reason);
}

status tls_guard::finish() noexcept {
  stream_.end_handshake();
  if (key_ != nullptr && SSL_session_reused(ssl_.get()) != 1)
    return error(errc::not_authentic, "the other side did not use the key");
  if (key_ == nullptr) {
    const certificate_ptr theirs(SSL_get1_peer_certificate(ssl_.get()));
    if (theirs == nullptr || SSL_get_verify_result(ssl_.get()) != X509_V_OK)
      return error(errc::not_authentic, "the other side has no valid certificate");
    names_ = certificate_names(theirs.get());
  }
  if (!bind_channel()) return error(errc::io_error, "OpenSSL cannot derive the channel");
  proven_ = true;
  return {};
}

bool tls_guard::bind_channel() noexcept {
  std::array<unsigned char, digest_bytes> said;
  unsigned int size = 0;
  return EVP_DigestFinal_ex(transcript_.get(), said.data(), &size) == 1 && size == said.size() &&
         SSL_export_keying_material(ssl_.get(), raw_bytes(std::span<std::byte>(channel_)), channel_.size(),
                                    channel_label.data(), channel_label.size(), said.data(), said.size(),
                                    1) == 1;
}

/// Whoever has a key of the ring may be any node: the ring is the cluster.
status tls_guard::speaks_for(std::string_view cluster, node_id node) const noexcept {
  if (key_ != nullptr) return {};
  const status named = names_.speak_for(cluster, node);
  if (!named) ++material_->counts().misnamed;
  return named;
}

std::size_t tls_guard::seal_records(std::span<const std::byte> plain, std::span<std::byte> into) noexcept {
  records_ += plain.size() / SSL3_RT_MAX_PLAIN_LENGTH + 1;
  if (records_ >= records_per_key_) {
    if (SSL_key_update(ssl_.get(), SSL_KEY_UPDATE_NOT_REQUESTED) != 1) return 0;
    records_ = 0;
    ++key_changes_;
  }
  stream_.set_output(into);
  std::size_t written = 0;
  const bool sealed = SSL_write_ex(ssl_.get(), plain.data(), plain.size(), &written) == 1;
  const std::size_t size = stream_.end_output();
  return sealed && written == plain.size() ? size : 0;
}

result<std::size_t> tls_guard::open(std::span<std::byte> into) noexcept {
  // OpenSSL keeps no unread bytes but those of a record that is not complete, or that it has opened.
  if (stream_.input_empty() && SSL_pending(ssl_.get()) == 0) return std::size_t{0};
  if (ERR_peek_error() != 0) ERR_clear_error();  // an earlier one would be taken for one of this call
  std::size_t opened = 0;
  if (SSL_read_ex(ssl_.get(), into.data(), into.size(), &opened) == 1) return opened;
  if (SSL_get_error(ssl_.get(), 0) == SSL_ERROR_WANT_READ) return std::size_t{0};
  return make_error(errc::not_authentic, "what arrived was altered or is not of this connection: {}",
                    openssl_reason());
}

}  // namespace scoll::transport
