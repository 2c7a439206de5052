#pragma once

/// Includes everything that a program calls, except the simulated world for tests (transport/sim). A program
/// that cares about its compile time includes only the feature headers that it uses, such as scoll/ship.hpp.

// A node, its parts and its state.
#include "scoll/call_rights.hpp"        // IWYU pragma: export
#include "scoll/follow.hpp"             // IWYU pragma: export
#include "scoll/ids.hpp"                // IWYU pragma: export
#include "scoll/incarnation_store.hpp"  // IWYU pragma: export
#include "scoll/latency_histogram.hpp"  // IWYU pragma: export
#include "scoll/local_cluster.hpp"      // IWYU pragma: export
#include "scoll/log.hpp"                // IWYU pragma: export
#include "scoll/node.hpp"               // IWYU pragma: export
#include "scoll/node_control.hpp"       // IWYU pragma: export
#include "scoll/node_event.hpp"         // IWYU pragma: export
#include "scoll/node_options.hpp"       // IWYU pragma: export
#include "scoll/node_pools.hpp"         // IWYU pragma: export
#include "scoll/node_rails.hpp"         // IWYU pragma: export
#include "scoll/node_snapshot.hpp"      // IWYU pragma: export
#include "scoll/rail_entry.hpp"         // IWYU pragma: export
#include "scoll/rail_snapshot.hpp"      // IWYU pragma: export
#include "scoll/settings.hpp"           // IWYU pragma: export
#include "scoll/version.hpp"            // IWYU pragma: export

// The node's operations.
#include "scoll/bulk.hpp"        // IWYU pragma: export
#include "scoll/collective.hpp"  // IWYU pragma: export
#include "scoll/ship.hpp"        // IWYU pragma: export
#include "scoll/tree.hpp"        // IWYU pragma: export

// Ways to wait for an operation.
#include "scoll/blocking.hpp"  // IWYU pragma: export
#include "scoll/coro.hpp"      // IWYU pragma: export

// Liveness: which nodes are alive.
#include "gossip/aead_seal.hpp"      // IWYU pragma: export
#include "gossip/configuration.hpp"  // IWYU pragma: export
#include "gossip/counters.hpp"       // IWYU pragma: export
#include "gossip/event.hpp"          // IWYU pragma: export
#include "gossip/event_queue.hpp"    // IWYU pragma: export
#include "gossip/log.hpp"            // IWYU pragma: export
#include "gossip/message_seal.hpp"   // IWYU pragma: export
#include "gossip/options.hpp"        // IWYU pragma: export
#include "gossip/participant.hpp"    // IWYU pragma: export
#include "gossip/snapshot.hpp"       // IWYU pragma: export
#include "gossip/threshold.hpp"      // IWYU pragma: export
#include "gossip/verdict.hpp"        // IWYU pragma: export

// The layer below: the reactor, files, sockets and datagrams, rails, encoded values.
#include "transport/io/acceptor.hpp"          // IWYU pragma: export
#include "transport/io/address.hpp"           // IWYU pragma: export
#include "transport/io/buffer.hpp"            // IWYU pragma: export
#include "transport/io/datagram.hpp"          // IWYU pragma: export
#include "transport/io/file.hpp"              // IWYU pragma: export
#include "transport/io/io_awaitables.hpp"     // IWYU pragma: export
#include "transport/io/reactor.hpp"           // IWYU pragma: export
#include "transport/io/socket.hpp"            // IWYU pragma: export
#include "transport/io/udp_port.hpp"          // IWYU pragma: export
#include "transport/security/key_ring.hpp"    // IWYU pragma: export
#include "transport/session/named_rails.hpp"  // IWYU pragma: export
#include "transport/tcp/tcp_rail.hpp"         // IWYU pragma: export
#include "transport/wire/wire.hpp"            // IWYU pragma: export
