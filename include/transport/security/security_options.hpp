#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "scoll/coro/result.hpp"

namespace scoll::transport {

class link_security;

/// How connections prove who is at their ends.
enum class security_mode : std::uint8_t {
  none = 0,  ///< not at all: whoever reaches the port and knows the cluster's name is believed
  psk = 1,   ///< both sides show that they have a key of the cluster's ring
  tls = 2,   ///< both sides show a certificate that names the node
};

/// How a node with a mode takes transports that cannot encrypt, such as RDMA.
enum class fabric_trust : std::uint8_t {
  refused = 0,  ///< a node with a mode refuses to use them
  trusted = 1,  ///< nobody else reaches them: the two sides prove who they are there, too, and then talk in
                ///< the clear
};

/// The name of a mode, such as "psk".
std::string_view to_string(security_mode mode) noexcept;
std::string_view to_string(fabric_trust trust) noexcept;

/// The security of a node's connections (docs/security.md).
struct security_options {
  security_mode mode = security_mode::none;
  /// The file with the cluster's `key_ring`, which gossip uses, too. Modes `psk` and `tls` need it.
  std::string keys{};
  /// The files of mode `tls`, as PEM: the certificates of the authorities that are believed; this node's
  /// certificate, followed by those between it and an authority; and its private key, which others must not
  /// be able to read.
  std::string ca{};
  std::string certificate{};
  std::string key{};
  /// Says if transports that cannot encrypt may be used beside a mode.
  fabric_trust fabric = fabric_trust::refused;

  /// Checks that the files are named that the mode needs. It reads none.
  status validate() const;
};

/// Reads the files and makes the guards of a node of `cluster`. The result is null in mode `none`. A file
/// that changes later is read again, at most once per second, when a connection is made or accepted;
/// connections that stand are not touched. It blocks, here and then. Errors: `invalid_argument`, `io_error`;
/// the text names the file.
result<std::shared_ptr<link_security>> make_security(const security_options& options,
                                                     std::string_view cluster);

}  // namespace scoll::transport
