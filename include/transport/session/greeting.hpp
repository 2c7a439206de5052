#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/coro/error.hpp"
#include "transport/session/frame.hpp"

namespace scoll::transport {

/// Names a server process in the cluster; 0 names none.
using node_id = std::uint64_t;

/// Set in the ids of clients: nodes that nobody lists, that only connect, and that choose an id at random.
inline constexpr node_id client_bit = node_id{1} << 63U;
constexpr bool is_client(node_id node) noexcept {
  return (node & client_bit) != 0;
}

/// The payload of `hello`, the first frame of a connection, from the side that connected. It names nobody:
/// who speaks is said in `identity`, which follows, at once or behind the frames of a security mode.
struct hello {
  std::uint16_t version = protocol_version;
  /// The lowest version that the speaker understands too.
  std::uint16_t lowest = protocol_version;
  /// A `security_mode`; 0: none.
  std::uint8_t security = 0;
  std::uint8_t lane = 0;
  std::uint16_t reserved = 0;
  /// The id of the key, in mode `psk`.
  std::uint32_t key = 0;
  std::uint32_t reserved_too = 0;
  std::array<std::byte, 32> nonce{};
};

/// Flags of an identity; others are ignored.
struct identity_flags {
  /// The connection is tried beside another one, and displaces it only if the speaker goes on with it.
  static constexpr std::uint8_t spare = 1;
  /// The speaker is a client.
  static constexpr std::uint8_t client = 2;
};

inline constexpr std::size_t max_cluster_name_bytes = 64;
/// The most bytes of a client's name in its certificate.
inline constexpr std::size_t max_client_name_bytes = 64;
inline constexpr std::size_t max_rails = 8;
inline constexpr std::size_t max_rail_address_bytes = 96;

/// One of the addresses by which a node can be reached.
struct rail_place {
  std::uint8_t index = 0;
  /// The classes that prefer it, as bits; 0: all.
  std::uint8_t classes = 0;
  std::uint8_t priority = 0;
  /// The length of the network's prefix in bits; 0: not known.
  std::uint8_t prefix = 0;
  /// In Mbit/s; 0: not known.
  std::uint32_t speed = 0;
  /// At most `max_rail_address_bytes` long.
  std::string address;
};

/// The payload of `identity` and `welcome`: the speaker, the node that it means to address, and the point
/// where the two left off.
///
/// A session is identified by the (incarnation, epoch) pairs of both sides. A side raises its epoch whenever
/// it gives up a session by itself; the other side then follows into the session of the new pair. Epochs only
/// grow, so both sides arrive at the same pair whatever crosses on the way, and frames of different sessions
/// never mix.
struct identity {
  std::uint16_t version = protocol_version;
  std::uint8_t lane = 0;
  /// `identity_flags`
  std::uint8_t flags = 0;
  std::uint64_t node = 0;
  /// The node that the speaker means to address; 0 asks who is there, which the welcome says, and no more.
  std::uint64_t target = 0;
  std::uint64_t incarnation = 0;
  /// The speaker's epoch.
  std::uint64_t epoch = 0;
  /// The receiver's incarnation as the speaker knows it; 0 if the speaker does not.
  std::uint64_t known_incarnation = 0;
  /// The receiver's epoch as the speaker knows it.
  std::uint64_t known_epoch = 0;
  /// Counts the speaker's connections on this lane; a connection that is not newer than the last is refused.
  std::uint64_t attempt = 0;
  /// All sequence numbers of this lane up to this one have arrived at the speaker.
  std::uint64_t received = 0;
  /// Which of the 256 numbers after `received` have arrived, too. All zero on a control lane.
  std::array<std::uint64_t, 4> beyond{};
  /// The speaker's rail, and the receiver's, which the connection is meant for.
  std::uint8_t from_rail = 0;
  std::uint8_t to_rail = 0;
  /// The credit with which a new session begins.
  std::array<std::uint32_t, class_count> window{};
  /// Binds the identity to its connection in a security mode; otherwise all zero.
  std::array<std::byte, 32> channel{};
  /// Where the speaker listens, at most `max_rails`; fixed for an incarnation.
  std::vector<rail_place> rails;
  /// The cluster's name, at most `max_cluster_name_bytes` long.
  std::string cluster;
};

/// The payload of `refuse`.
struct refusal {
  std::uint16_t code = 0;  ///< an `errc`
  std::uint16_t version = protocol_version;
  std::uint16_t lowest = protocol_version;
  std::uint16_t reserved = 0;
  /// The node that refuses.
  std::uint64_t node = 0;
  std::uint64_t incarnation = 0;
  std::string text;
};

/// Only addresses that can be one are taken from the wire.
constexpr bool wire_valid(const rail_place& place) noexcept {
  return place.address.size() <= max_rail_address_bytes;
}

constexpr bool wire_valid(const identity& said) noexcept {
  return said.rails.size() <= max_rails && said.cluster.size() <= max_cluster_name_bytes;
}

}  // namespace scoll::transport
