#pragma once

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

#include "tests/catch.hpp"
#include "tests/transport/security/private_file.hpp"
#include "transport/security/openssl.hpp"
#include "transport/security/security_options.hpp"

namespace security {

using namespace scoll;
using namespace scoll::transport;

inline const std::string key_a(64, 'a');
inline const std::string key_b(64, 'b');

template <class Write>
std::string pem_of(Write write) {
  const bio_ptr memory(BIO_new(BIO_s_mem()));
  REQUIRE(write(memory.get()) == 1);
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

struct validity {
  long begins = -3600;  // in seconds from now
  long ends = 3600;
};

/// An authority that issues certificates. Its signatures have one length, so that handshakes have one, too.
class authority {
 public:
  authority() : key_(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519")) {
    certificate_ = make(key_.get(), "authority", "", {});
  }

  std::string pem() const { return pem_of(certificate_.get()); }

  /// Writes a certificate with these names ("URI:scoll://test/node/3,URI:...") and its key.
  void issue(const std::string& names, const private_file& certificate, const private_file& key,
             validity valid = {}) const {
    const private_key_ptr own(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
    certificate.write(pem_of(make(own.get(), "node", names, valid).get()));
    key.write(security::pem_of([&](BIO* to) {
      return PEM_write_bio_PrivateKey(to, own.get(), nullptr, nullptr, 0, nullptr, nullptr);
    }));
  }

 private:
  static std::string pem_of(X509* what) {
    return security::pem_of([&](BIO* to) { return PEM_write_bio_X509(to, what); });
  }

  certificate_ptr make(EVP_PKEY* subject, const char* name, const std::string& names, validity valid) const {
    certificate_ptr made(X509_new());
    X509* const x = made.get();
    X509_set_version(x, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(x), ++serial_);
    X509_gmtime_adj(X509_getm_notBefore(x), valid.begins);
    X509_gmtime_adj(X509_getm_notAfter(x), valid.ends);
    X509_set_pubkey(x, subject);
    X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_ASC,
                               reinterpret_cast<const unsigned char*>(name), -1, -1, 0);
    X509* const issuer = certificate_ == nullptr ? x : certificate_.get();
    X509_set_issuer_name(x, X509_get_subject_name(issuer));
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x, nullptr, nullptr, 0);
    if (certificate_ == nullptr) extend(x, context, NID_basic_constraints, "critical,CA:TRUE");
    if (!names.empty()) extend(x, context, NID_subject_alt_name, names);
    REQUIRE(X509_sign(x, key_.get(), nullptr) != 0);
    return made;
  }
  static void extend(X509* x, X509V3_CTX& context, int what, const std::string& value) {
    X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
    REQUIRE(made != nullptr);
    REQUIRE(X509_add_ext(x, made, -1) == 1);
    X509_EXTENSION_free(made);
  }

  private_key_ptr key_;
  certificate_ptr certificate_;
  mutable long serial_ = 0;
};

/// The files of one node.
struct node_files {
  explicit node_files(const std::string& ring = key_a) : keys(ring + "\n") {}
  /// With a certificate by `from` with these names. Authorities of `believed` are believed.
  node_files(const authority& from, const std::string& names, const std::string& believed,
             validity valid = {})
      : node_files() {
    ca.write(believed);
    from.issue(names, certificate, key, valid);
  }

  security_options psk() const {
    security_options o;
    o.mode = security_mode::psk;
    o.keys = keys.path;
    return o;
  }
  security_options tls() const {
    security_options o;
    o.mode = security_mode::tls;
    o.keys = keys.path;
    o.ca = ca.path;
    o.certificate = certificate.path;
    o.key = key.path;
    return o;
  }

  private_file keys, ca, certificate, key;
};

inline std::string node_name(std::uint64_t id) {
  return "URI:scoll://test/node/" + std::to_string(id);
}

inline std::shared_ptr<link_security> made(const security_options& o) {
  auto security = make_security(o, "test");
  if (!security) FAIL(security.error().text());
  return *security;
}

}  // namespace security
