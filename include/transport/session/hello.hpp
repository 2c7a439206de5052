#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "scoll/coro/error.hpp"
#include "transport/session/frame.hpp"

namespace scoll::transport {

/// Names a server process in the cluster; 0 names none.
using node_id = std::uint64_t;

/// Flags of a hello; others are ignored.
struct hello_flags {
  /// The connection is tried beside another one, and displaces it only if the speaker goes on with it.
  static constexpr std::uint8_t spare = 1;
};

/// The payload of `hello` and `welcome`: the sender, the node that it means to address, and the point where
/// the two left off.
///
/// A session is identified by the (incarnation, epoch) pairs of both sides. A side raises its epoch whenever
/// it gives up a session by itself; the other side then follows into the session of the new pair. Epochs only
/// grow, so both sides arrive at the same pair whatever crosses on the way, and frames of different sessions
/// never mix.
struct hello {
  std::uint16_t version = protocol_version;
  std::uint8_t lane = 0;
  /// `hello_flags`
  std::uint8_t flags = 0;
  std::uint64_t node = 0;
  /// The node that the sender means to address.
  std::uint64_t target = 0;
  std::uint64_t incarnation = 0;
  /// The sender's epoch.
  std::uint64_t epoch = 0;
  /// The receiver's incarnation as the sender knows it; 0 if the sender does not.
  std::uint64_t known_incarnation = 0;
  /// The receiver's epoch as the sender knows it.
  std::uint64_t known_epoch = 0;
  /// All sequence numbers of this lane up to this one have arrived at the sender.
  std::uint64_t received = 0;
  /// Counts the sender's connections on this lane; a connection that is not newer than the last is refused.
  std::uint64_t attempt = 0;
  /// The credit with which a new session begins.
  std::array<std::uint32_t, class_count> window{};
  /// The cluster's name, at most `max_cluster_name_bytes` long.
  std::string cluster;
};

inline constexpr std::size_t max_cluster_name_bytes = 64;

/// The payload of `refuse`.
struct refusal {
  std::uint16_t code = 0;  ///< an `errc`
  std::uint16_t version = protocol_version;
  std::uint64_t incarnation = 0;
  std::string text;
};

}  // namespace scoll::transport
