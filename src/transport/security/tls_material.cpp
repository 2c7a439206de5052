#include "transport/security/tls_material.hpp"

#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <string>

#include "scoll/coro/error_format.hpp"
#include "transport/security/secret_file.hpp"
#include "transport/security/tls_suite.hpp"

namespace scoll::transport {
namespace {

constexpr std::string_view link_purpose = "scoll link psk 1";
constexpr const char* exchanges = "X25519:P-256";

error no_context(std::string_view what) noexcept {
  return make_error(errc::io_error, "OpenSSL: {}: {}", what, openssl_reason());
}

/// TLS 1.3 alone, without early data, tickets or resumption.
result<ssl_context_ptr> make_context() noexcept {
  ssl_context_ptr made(SSL_CTX_new(TLS_method()));
  if (made == nullptr) return no_context("no context");
  SSL_CTX* const c = made.get();
  const bool strict = SSL_CTX_set_min_proto_version(c, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_max_proto_version(c, TLS1_3_VERSION) == 1 &&
                      SSL_CTX_set_ciphersuites(c, the_suite.name) == 1 &&
                      SSL_CTX_set1_groups_list(c, exchanges) == 1 && SSL_CTX_set_num_tickets(c, 0) == 1 &&
                      SSL_CTX_set_max_early_data(c, 0) == 1 &&
                      SSL_CTX_set_session_id_context(c, psk_context.data(), psk_context.size()) == 1;
  if (!strict) return no_context("no TLS 1.3 with the cipher suite of scoll");
  SSL_CTX_set_options(c, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_clear_options(c, SSL_OP_ENABLE_MIDDLEBOX_COMPAT | SSL_OP_ALLOW_NO_DHE_KEX);
  SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
  // In mode `psk` no certificate is believed, because no authority is.
  SSL_CTX_set_verify(c, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nullptr);
  return made;
}

/// A key that is locked by a passphrase is refused, because nobody is there to be asked.
int no_passphrase(char*, int, int, void*) noexcept {
  return 0;
}

result<private_key_ptr> read_private_key(const std::string& path) {
  const auto content = read_secret_file(path, "private key");
  if (!content) return content.error();
  const bio_ptr from(BIO_new_mem_buf(content->text.data(), static_cast<int>(content->text.size())));
  private_key_ptr key(PEM_read_bio_PrivateKey(from.get(), nullptr, &no_passphrase, nullptr));
  if (key != nullptr) return key;
  return make_error(errc::invalid_argument, "{}: no private key without a passphrase: {}", path,
                    openssl_reason());
}

}  // namespace

tls_material::~tls_material() {
  OPENSSL_cleanse(keys_.data(), keys_.size() * sizeof(tls_psk));
}

result<std::shared_ptr<const tls_material>> tls_material::read(const security_options& options,
                                                               std::string_view cluster,
                                                               std::shared_ptr<security_counts> counts) {
  const auto ring = key_ring::read(options.keys);
  if (!ring) return make_error(ring.error().code(), "security.keys: {}", ring.error().text());
  if (options.mode == security_mode::psk) return of_ring(*ring, cluster, std::move(counts));
  auto made = make(*ring, std::move(counts));
  if (!made) return made.error();
  if (const status taken = (*made)->take_certificate(options); !taken) return taken.error();
  return std::shared_ptr<const tls_material>(std::move(*made));
}

result<std::shared_ptr<tls_material>> tls_material::make(const key_ring& ring,
                                                         std::shared_ptr<security_counts> counts) {
  auto context = make_context();
  if (!context) return context.error();
  auto made = std::make_shared<tls_material>(std::move(counts));
  made->context_ = std::move(*context);
  for (const cluster_key& each : ring.keys()) made->key_ids_.push_back(each.id);
  return made;
}

result<std::shared_ptr<const tls_material>> tls_material::of_ring(const key_ring& ring,
                                                                  std::string_view cluster,
                                                                  std::shared_ptr<security_counts> counts) {
  auto made = make(ring, std::move(counts));
  if (!made) return made.error();
  if (const status taken = (*made)->take_keys(ring, cluster); !taken) return taken.error();
  return std::shared_ptr<const tls_material>(std::move(*made));
}

status tls_material::take_keys(const key_ring& ring, std::string_view cluster) {
  std::string purpose(link_purpose);
  purpose.append(cluster);
  keys_.reserve(ring.keys().size());  // so that no copy is left behind
  for (const cluster_key& each : ring.keys()) {
    tls_psk& key = keys_.emplace_back();
    key.id = each.id;
    fmt::format_to_n(key.name.data(), key.name.size(), "{:08x}", each.id);
    unsigned int size = 0;
    if (HMAC(EVP_sha256(), each.secret.data(), static_cast<int>(each.secret.size()),
             reinterpret_cast<const unsigned char*>(purpose.data()), purpose.size(), key.secret.data(),
             &size) == nullptr)
      return no_context("no HMAC");
  }
  return {};
}

status tls_material::take_certificate(const security_options& options) {
  SSL_CTX* const c = context_.get();
  if (SSL_CTX_load_verify_file(c, options.ca.c_str()) != 1) {
    return make_error(errc::invalid_argument, "security.ca: {}: {}", options.ca, openssl_reason());
  }
  if (SSL_CTX_use_certificate_chain_file(c, options.certificate.c_str()) != 1) {
    return make_error(errc::invalid_argument, "security.certificate: {}: {}", options.certificate,
                      openssl_reason());
  }
  const auto key = read_private_key(options.key);
  if (!key) return make_error(key.error().code(), "security.key: {}", key.error().text());
  if (SSL_CTX_use_PrivateKey(c, key->get()) == 1 && SSL_CTX_check_private_key(c) == 1) return {};
  return make_error(errc::invalid_argument, "security.key: {} is not the key of {}: {}", options.key,
                    options.certificate, openssl_reason());
}

std::optional<std::int64_t> tls_material::seconds_left() const noexcept {
  const X509* const own = SSL_CTX_get0_certificate(context_.get());
  int days = 0;
  int seconds = 0;
  if (own == nullptr || ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(own)) != 1)
    return std::nullopt;
  constexpr std::int64_t seconds_of_day = 86'400;
  return days * seconds_of_day + seconds;
}

const tls_psk* tls_material::find(std::uint32_t id) const noexcept {
  const auto found = std::ranges::find(keys_, id, &tls_psk::id);
  return found == keys_.end() ? nullptr : &*found;
}

}  // namespace scoll::transport
