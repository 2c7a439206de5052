#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

namespace scoll::transport {

/// Frees what OpenSSL has made.
template <auto Free>
struct openssl_free {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};

using ssl_context_ptr = std::unique_ptr<SSL_CTX, openssl_free<&SSL_CTX_free>>;
using ssl_ptr = std::unique_ptr<SSL, openssl_free<&SSL_free>>;
using ssl_session_ptr = std::unique_ptr<SSL_SESSION, openssl_free<&SSL_SESSION_free>>;
using certificate_ptr = std::unique_ptr<X509, openssl_free<&X509_free>>;
using private_key_ptr = std::unique_ptr<EVP_PKEY, openssl_free<&EVP_PKEY_free>>;
using bio_ptr = std::unique_ptr<BIO, openssl_free<&BIO_free>>;
using digest_ptr = std::unique_ptr<EVP_MD_CTX, openssl_free<&EVP_MD_CTX_free>>;

/// What OpenSSL says about its latest failure on this thread, such as "certificate verify failed". It forgets
/// the failure.
inline std::string_view openssl_reason() noexcept {
  const char* const text = ERR_reason_error_string(ERR_peek_last_error());
  ERR_clear_error();
  return text == nullptr ? "no reason given" : text;
}

inline const unsigned char* raw_bytes(std::span<const std::byte> bytes) noexcept {
  return reinterpret_cast<const unsigned char*>(bytes.data());
}
inline unsigned char* raw_bytes(std::span<std::byte> bytes) noexcept {
  return reinterpret_cast<unsigned char*>(bytes.data());
}

}  // namespace scoll::transport
