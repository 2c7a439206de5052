#pragma once

#include <openssl/obj_mac.h>

#include <array>

namespace scoll::transport {

/// The one cipher suite of all connections: nothing is negotiated that could be talked down.
struct tls_suite {
  const char* name;                     ///< as OpenSSL calls it
  std::array<unsigned char, 2> number;  ///< as the handshake says it
  int digest;                           ///< the NID of its hash, which a key of the ring is used with
};

inline constexpr tls_suite the_suite{"TLS_AES_256_GCM_SHA384", {0x13, 0x02}, NID_sha384};

}  // namespace scoll::transport
