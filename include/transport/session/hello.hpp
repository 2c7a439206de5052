#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "scoll/coro/error.hpp"
#include "transport/session/frame.hpp"

namespace scoll::transport {

/// A server process in the cluster. 0 is nobody.
using node_id = std::uint64_t;

/// The payload of `hello` and `welcome`: who speaks, to whom it believes to speak, and where the two left
/// off.
///
/// A session is identified by both sides' (incarnation, epoch). A side raises its epoch whenever it gives a
/// session up by itself; the other then follows into the session of the new pair. Epochs only grow, so both
/// arrive at the same pair whatever crosses on the way, and frames of different sessions never mix.
struct hello {
  std::uint16_t version = protocol_version;
  std::uint8_t lane = 0;
  std::uint64_t node = 0;
  std::uint64_t target = 0;  ///< the node the sender means to talk to
  std::uint64_t incarnation = 0;
  std::uint64_t epoch = 0;              ///< the sender's
  std::uint64_t known_incarnation = 0;  ///< the receiver's, as the sender knows it; 0: not at all
  std::uint64_t known_epoch = 0;        ///< likewise
  std::uint64_t received = 0;           ///< the sender has everything of this lane up to here
  std::uint64_t attempt = 0;  ///< the sender's connections on this lane; one that is not newer is refused
  std::array<std::uint32_t, class_count> window{};  ///< what a new session begins with as credit
  std::string cluster;                              ///< at most `max_cluster_name_bytes`
};

inline constexpr std::size_t max_cluster_name_bytes = 64;

/// The payload of `refuse`.
struct refusal {
  std::uint16_t code = 0;  ///< errc
  std::uint16_t version = protocol_version;
  std::uint64_t incarnation = 0;
  std::string text;
};

}  // namespace scoll::transport
