#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "transport/session/frame.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

class link_security;

/// Bounds and times of an endpoint. `validate` says what is wrong with a set of options.
struct endpoint_options {
  /// The id of this node: 1 or more, and with `client_bit` if and only if it is a client.
  node_id self = 0;
  /// This node is a client: the servers that it connects to need not know it. It accepts no connections.
  bool client = false;
  /// The most clients that have a place here at once; a further one is refused with `busy`. A client keeps
  /// its place until it leaves, or has been silent for `silence_limit`.
  std::uint32_t clients = 1024;
  /// The name of the cluster; links of other clusters are refused.
  std::string cluster;
  /// A number that grows with every start of the node: its start time in ns, or a stored counter.
  std::uint64_t incarnation = 0;
  /// The address that this node tells its peers; empty: the one at which it listens.
  std::string advertise;
  /// How long a peer may be unreachable before its session is lost. If only the connection for class bulk is
  /// lost, only the exchanges of that class end.
  nanoseconds reconnect_grace = std::chrono::seconds(1);
  /// The first pause between connection attempts to a peer; pauses grow up to `backoff_limit`.
  nanoseconds backoff_first = std::chrono::milliseconds(5);
  nanoseconds backoff_limit = std::chrono::milliseconds(200);
  /// How long a new link may take to introduce itself.
  nanoseconds hello_limit = std::chrono::seconds(2);
  /// How long a peer whose connection stands may leave probes unanswered while this node awaits something
  /// of it; then the session is lost. 0: for ever. Time for which this process did not run does not count.
  nanoseconds silence_limit = std::chrono::seconds(10);
  /// How long a peer that answers probes may leave a message unacknowledged; then the connection is
  /// replaced, and the third time in a row the session is lost.
  nanoseconds unacknowledged_limit = std::chrono::seconds(10);
  /// The time between probes of a peer of which this node awaits something, while nothing arrives or leaves.
  nanoseconds probe_interval = std::chrono::seconds(1);
  /// Probes a peer when its connection comes up, so that the round trip is known from the beginning.
  bool probe_first = false;
  /// How long a path to a peer with several may leave something unanswered while another path of the same
  /// peer answers; then it is suspected, and what it carries goes by another one.
  nanoseconds rails_detect = std::chrono::milliseconds(100);
  /// How long a path may be suspected before its connections are cut and made anew.
  nanoseconds rails_dead = std::chrono::seconds(1);
  /// How long a path that is back must answer before it is preferred again. Trouble within a minute doubles
  /// it, up to a minute.
  nanoseconds rails_prove = std::chrono::seconds(1);
  /// How long an acknowledgement may wait for another frame that can carry it.
  nanoseconds acknowledge_delay = std::chrono::milliseconds(20);
  /// The most requests of each class that a peer may have open here at once.
  std::array<std::uint32_t, class_count> window{32, 64, 64, 16};
  /// The most requests per peer and class that wait for credit; a further one fails with `busy`.
  std::uint32_t queue_limit = 256;
  /// The most requests per peer that wait for a reply; a further one fails with `busy`.
  std::uint32_t exchange_limit = 4096;
  /// The most accepted links that have not introduced themselves.
  std::uint32_t handshake_limit = 128;
  /// The most of these links that come from one host. One that ends in a handshake without a proof
  /// counts until `hello_limit` is over.
  std::uint32_t handshakes_per_host = 64;
  /// The security mode with its secrets; null: connections prove nothing.
  std::shared_ptr<link_security> security{};
  /// The most memory regions exposed at once; a further one fails with `busy`.
  std::uint32_t region_limit = 65536;
  /// The most segments of gets and puts under way per peer; at most `queue_limit`.
  std::uint32_t transfer_window = 16;
  /// Bytes of one segment of a transfer, 1 to 1 MiB.
  std::uint32_t transfer_segment_bytes = 524288;
  /// Buffers of 8 KiB for small segments that have been sent and not acknowledged. When all are taken,
  /// transfers wait.
  std::uint32_t transfer_buffers = 1024;
  /// The most orders of peers for pieces that are not there yet; a further one is answered `busy`, and its
  /// peer tries again.
  std::uint32_t parked_limit = 4096;

  status validate() const;
};

}  // namespace scoll::transport
