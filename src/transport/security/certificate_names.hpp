#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/result.hpp"
#include "transport/security/openssl.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

/// The URIs of a certificate's subject alternative name that begin with "scoll://". They name nodes, as
/// "scoll://CLUSTER/node/3", and clients, as "scoll://CLUSTER/client/NAME".
class certificate_names {
 public:
  certificate_names() = default;
  explicit certificate_names(const X509* certificate);

  /// Says whether they name this node; for a client, whether they name any. Error: `not_authentic`, whose text
  /// has the first name.
  status speak_for(std::string_view cluster, node_id node) const noexcept;

  /// The name of the client of `cluster` that comes first; empty if there is none.
  std::string_view client_of(std::string_view cluster) const noexcept;

 private:
  std::vector<std::string> uris_;
};

}  // namespace scoll::transport
