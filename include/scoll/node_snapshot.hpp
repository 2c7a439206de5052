#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/ids.hpp"

namespace scoll {

/// Counters of a node's collectives. They only grow.
struct collective_statistics {
  std::uint64_t started = 0;         ///< broadcasts and group operations with this node as root
  std::uint64_t received = 0;        ///< requests accepted from parents
  std::uint64_t executed = 0;        ///< calls of `execute`
  std::uint64_t refused = 0;         ///< requests refused on arrival
  std::uint64_t late_creations = 0;  ///< those of them that would create a group that has ended
  std::uint64_t asked_again = 0;  ///< requests sent once more, to members that did not hold a delayed group
  std::uint64_t revoked = 0;      ///< groups that were revoked, by this node or others
  std::uint64_t clean = 0;        ///< operations whose whole subtree executed and was merged
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
};

/// A group with a name, as a node holds it.
struct group_snapshot {
  std::string name;
  group_id id;
  service_id service{};
  std::uint32_t members = 0;
  bool delayed = false;  ///< members may not have been told of it yet
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
