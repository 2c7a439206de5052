#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace scoll::transport {

/// What the security mode of a node has seen on its connections. The counters only grow.
struct security_counts {
  std::uint64_t older_keys = 0;    ///< connections accepted with another key than the first one of the ring
  std::uint64_t unknown_keys = 0;  ///< connections refused because their key is not in the ring
  std::uint64_t outdated = 0;      ///< certificates refused because they have expired or are not valid yet
  std::uint64_t misnamed = 0;      ///< certificates refused because they name somebody else
};

/// The security of a node at one moment.
struct security_snapshot {
  std::string_view mode = "none";
  std::string_view fabric = "refused";
  /// The ids of the keys of the ring. Mode `psk` offers the first one.
  std::vector<std::uint32_t> keys;
  /// The seconds for which this node's certificate is still valid, negative if it has expired; nothing
  /// without a certificate.
  std::optional<std::int64_t> certificate_seconds;
  security_counts counts;
};

}  // namespace scoll::transport
