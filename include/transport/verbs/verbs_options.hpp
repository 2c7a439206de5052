#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::transport {

/// The most memory windows of one link.
inline constexpr std::uint32_t most_windows = 256;

/// How a `verbs_rail` uses its device. The defaults pin about 62 MB of memory.
struct verbs_options {
  /// The device, such as "mlx5_0"; empty: the first one that has `address`, or the first one with an active
  /// port.
  std::string device{};
  /// The number of the device's port, from 1 on.
  std::uint8_t port = 1;
  /// The IP address of the port, such as "10.0.0.1", by which its GID is chosen; empty: the host that the
  /// rail listens on, or the first address of the port.
  std::string address{};
  /// Places for what arrives, over all links, of 9216 bytes each. A link is promised at least 4 of them, and
  /// together links are promised at most three quarters.
  std::uint32_t receive_slots = 2048;
  /// The most places that one link is promised, 4 to 255; busy links get so many.
  std::uint32_t link_slots = 64;
  /// Registered pieces of memory that are sent from, over all links, of 9216 bytes each.
  std::uint32_t send_slabs = 1024;
  /// The most batches, over all links, that wait because a peer or the device takes no more now.
  std::uint32_t send_buffers = 1024;
  /// The most frames that are arriving in pieces, over all links, and arrivals that were copied out of their
  /// places.
  std::uint32_t frame_buffers = 4096;
  /// The most READs of one link that are under way; fewer if the device or the peer cannot do so many. 0:
  /// bulk data travel in messages.
  std::uint8_t read_depth = 16;
  /// A READ of the device is of at most so many bytes; what is larger is read in pieces.
  std::uint32_t read_bytes = 262144;
  /// Registered pieces of memory through which other memory is read, so many for each direction, and their
  /// size. 0 pieces: bulk data travel in messages.
  std::size_t read_slabs = 32;
  std::size_t read_slab_bytes = 524288;
  /// Memory windows of each link, with which a right to READ reaches the memory that it is about, no other,
  /// and only as long as it lasts. 0: none, and a right reaches all of a registration; else 4 to 256. A
  /// right waits for free windows, and its binding for the READs that its own node has posted before.
  std::uint32_t windows = 0;
  /// How often a peer without a place for what arrives is tried again, 0 to 7; 7: for ever. Links are
  /// promised places, so this never happens; tests set 0.
  std::uint8_t rnr_retry = 7;
  /// How long the device waits for an acknowledgement: 4.096 us times 2 to this power, 1 to 31.
  std::uint8_t timeout = 14;
  /// How often it then sends again, 0 to 6.
  std::uint8_t retry_count = 6;
  /// The service level, 0 to 15, and the traffic class of what is sent.
  std::uint8_t service_level = 0;
  std::uint8_t traffic_class = 0;
  /// How long an attempt to connect may take, and how long an accepted connection may take to become a link.
  nanoseconds connect_limit = std::chrono::seconds(3);
  /// The most accepted connections that are not links yet.
  std::size_t handshake_limit = 256;
  /// How long a closed link's peer may take to accept what was written.
  nanoseconds linger_limit = std::chrono::seconds(1);
  /// A link that has sent nothing for this long gives back the places that it was promised, except 4.
  nanoseconds give_back_after = std::chrono::seconds(1);

  /// Says what does not fit together, with the names of the options (`invalid_argument`).
  status validate() const;
};

}  // namespace scoll::transport
