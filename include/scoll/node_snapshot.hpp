#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/error.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/latency_histogram.hpp"
#include "transport/session/frame.hpp"

namespace scoll {

/// Counters of a node's collectives. They only grow.
struct collective_statistics {
  std::uint64_t started = 0;         ///< broadcasts and group operations with this node as root
  std::uint64_t received = 0;        ///< requests accepted from parents
  std::uint64_t executed = 0;        ///< calls of `execute`
  std::uint64_t refused = 0;         ///< requests refused on arrival
  std::uint64_t late_creations = 0;  ///< those of them that would create a group that has ended
  std::uint64_t asked_again = 0;    ///< requests sent once more, to members that did not hold a delayed group
  std::uint64_t revoked = 0;        ///< groups that were revoked, by this node or others
  std::uint64_t clean = 0;          ///< operations whose whole subtree executed and was merged
  std::uint64_t reply_parts = 0;    ///< parts of replies that were sent ahead of the last one
  std::uint64_t repair_rounds = 0;  ///< further rounds of broadcasts, with this node as root
  std::uint64_t bulk_rounds = 0;    ///< those of them that have offered bulk data once more
};

/// Counters of a node's shipped calls. They only grow.
struct ship_statistics {
  std::uint64_t shipped = 0;   ///< calls handed to a session
  std::uint64_t received = 0;  ///< calls admitted
  std::uint64_t refused = 0;   ///< calls refused on arrival
  std::uint64_t executed = 0;  ///< calls of a handler
  std::uint64_t large = 0;     ///< arguments and results that were pulled, on either side
};

/// One peer as a node sees it.
struct peer_snapshot {
  node_id id{};
  std::string address;
  std::uint64_t incarnation = 0;  ///< 0: the peer was never heard from
  bool connected = false;         ///< the control lane has a connection
  bool dead = false;              ///< liveness says that it is dead
  std::size_t waiting = 0;        ///< requests to the peer that await a reply
  std::size_t held_messages = 0;  ///< messages queued for the peer or not yet acknowledged by it
  bool bulk_connected = false;    ///< the bulk lane has a connection
  bool bulk_lost = false;        ///< the bulk lane was lost, and something is held that the peer must hear of
  std::uint64_t epoch = 0;       ///< counts this node's sessions with the peer
  std::uint64_t peer_epoch = 0;  ///< that of the peer; 0: there is no session now
  std::size_t owing = 0;         ///< requests of the peer that await this node's reply
  /// Requests that may be sent now, and requests that wait for credit, by `transport::traffic_class`.
  std::array<std::uint32_t, transport::class_count> credit{}, queued{};
  nanoseconds rtt{0};       ///< the round trip that probes show, smoothed; 0: none has been measured
  error last_failure;       ///< why the control lane is not connected; empty while it is
  error last_bulk_failure;  ///< the same of the bulk lane
};

/// A group with a name, as a node holds it.
struct group_snapshot {
  std::string name;
  group_id id;
  service_id service{};
  std::uint32_t members = 0;
  bool delayed = false;  ///< members may not have been told of it yet
  bool revoked = false;  ///< nothing begins through it any more
};

/// An operation that is under way: a broadcast, or an operation of the library's own on a group.
struct operation_snapshot {
  std::string_view kind;  ///< "broadcast", "create", "forget" and so on
  std::string service;    ///< the name of the service that it is for
  std::string group;      ///< the name of the group, if it has one
  group_id group_number;
  node_id root = 0;
  std::uint64_t counter = 0;   ///< counts the operations of the root on the group
  nanoseconds age{0};          ///< since this node began with it
  std::string_view stage;      ///< "running"; "answered" if only hooks have not returned; "stopping"
  std::string hooks;           ///< the hooks that run as coroutines, such as "execute"
  std::size_t children = 0;    ///< the members below this node that it forwards to
  std::size_t unanswered = 0;  ///< those of them that have not answered
};

/// A function that this node serves.
struct function_snapshot {
  std::string name;
  std::size_t inside = 0;      ///< calls that were admitted and have not ended
  std::uint64_t calls = 0;     ///< handlers that have returned
  std::uint64_t failures = 0;  ///< those of them that, or whose answers, have failed
  latency_histogram latency;   ///< of those handlers
};

/// A call that this node serves.
struct call_snapshot {
  std::string function;
  node_id caller = 0;
  nanoseconds age{0};      ///< since the handler began; zero if it has not
  std::string_view stage;  ///< "waiting" (the handler has not begun), "running", or "holding" a large result
};

/// A bounded resource of a node: memory, or places in a table.
struct resource_snapshot {
  std::string_view name;   ///< such as "payload_buffers"
  std::string_view about;  ///< what is counted
  std::uint64_t used = 0;
  std::uint64_t limit = 0;  ///< 0: it has no bound of its own
};

/// The state of one node at one moment. Sizes are counts unless they say bytes.
struct node_snapshot {
  node_id id{};
  std::uint64_t incarnation = 0;
  std::size_t groups = 0;              ///< groups that this node holds
  std::size_t groups_ending = 0;       ///< destroyed groups of which some living members have not been told
  std::size_t admissions_waiting = 0;  ///< requests that wait until their group is known here
  std::size_t operations = 0;          ///< broadcasts that run here, as root or member
  std::size_t calls_served = 0;        ///< calls admitted here and not finished
  std::size_t calls_awaited = 0;       ///< calls that this node waits for
  std::size_t large_bytes_held = 0;    ///< bytes of large arguments and results that handlers hold
  collective_statistics collectives;
  ship_statistics calls;
  std::vector<peer_snapshot> peers;          ///< in the order of their ids
  std::vector<group_snapshot> named_groups;  ///< the groups that have a name, in the order of their ids
};

}  // namespace scoll
