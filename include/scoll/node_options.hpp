#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "scoll/bulk/costs.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/call_rights.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/log.hpp"
#include "scoll/ship/options.hpp"
#include "scoll/tree/greedy.hpp"
#include "scoll/tree/spec.hpp"
#include "transport/security/security_options.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll {

/// What a node is for the others.
enum class node_role : std::uint8_t {
  /// It has an id, which the others know, accepts connections, and can be in groups.
  server = 0,
  /// It is listed nowhere, accepts no connections and is in no group. It calls servers, which may read and
  /// write the memory that it exposes while they serve its calls.
  client = 1,
};

/// All options of a node. `validate` reports a contradiction or a value out of range.
struct node_options {
  node_role role = node_role::server;
  /// The id of the node: unique in the cluster, not 0 and below 2^63. A client leaves it at 0; it then draws
  /// one at random from the upper half of the range.
  node_id id = 0;
  /// The name of the cluster; nodes of different names do not talk to each other.
  std::string cluster = "scoll";
  /// The incarnation, which must grow with every start; 0 stands for the wall clock in nanoseconds.
  std::uint64_t incarnation = 0;
  /// The directory in which `choose_incarnation` keeps the incarnation; if empty, it is not kept.
  std::string directory{};
  /// The address at which `node::listen()` accepts connections; not used by `node::listen(address)`.
  std::string listen{};
  /// The address that others should use, if it is not the one that is bound, as behind a translation of
  /// addresses or where a host name outlives its numbers; empty: the bound one.
  std::string advertise{};
  /// Callers that are in no group, such as clients, may have this node broadcast to groups that it holds
  /// (`remote_group`).
  bool serve_broadcasts = true;
  /// The tree of groups that do not choose one.
  tree_spec default_tree{};
  /// The tree that `plan_tree` gives instead of measuring.
  std::optional<tree_spec> pinned_tree{};
  /// Decides about a broadcast that does not choose and has members known to be dead: it fails at once and
  /// names them, or it reaches the others.
  dead_members default_dead_members = dead_members::refuse;
  /// The number of broadcasts that run at once, rooted here or not; further ones are `busy`. Creating and
  /// destroying groups has a few places more.
  std::uint32_t max_operations = 1024;
  /// The number of requests that wait at once until their group is known here, of those operations; further
  /// ones are `busy`.
  std::uint32_t max_pending_admissions = 64;
  /// The memory, in bytes, for parts of replies that come ahead of the last one: for each child that has
  /// members below it 4 KiB in a broadcast that is to fail fast, and a whole reply in one that ends with a
  /// quorum. Further such broadcasts are `busy`.
  std::size_t reply_memory = std::size_t{8} << 20;
  /// The memory, in bytes, for what this node has done in broadcasts that are repaired, for further rounds of
  /// them: the `reply_capacity` of the service and 128 bytes each, at most 1,024 of them. Requests beyond it
  /// are refused as `busy`.
  std::size_t repair_memory = std::size_t{4} << 20;
  /// A safe round-trip time between any two nodes, for the time bounds of levels (R in
  /// docs/writing-a-service.md).
  nanoseconds rtt_estimate = std::chrono::milliseconds(20);
  /// Lets round trips that probes have measured shorten the estimate, for children whose connections are
  /// faster. They always lengthen it where connections are slower.
  bool measured_rtt = false;
  /// The time that each level of a tree keeps back in addition to the round trip, so that it answers before
  /// its parent gives up.
  nanoseconds level_margin = std::chrono::milliseconds(5);
  /// The time between two questions of a member to a creator: whether the groups of that creator still exist.
  /// Each time is drawn to be up to a tenth longer or shorter.
  nanoseconds group_lease = std::chrono::seconds(30);
  /// The tree, rooted at the node that revokes a group, whose children each member tells first.
  tree_spec revoke_tree = greedy{7, 2, 0};
  /// The time that a revoke waits for connections to the members that this node tells itself. Members that it
  /// has not reached by then are told later.
  nanoseconds revoke_emission = std::chrono::milliseconds(5);
  /// The bytes per second at which bulk data of broadcasts travel at least, for their time bounds.
  std::uint64_t bulk_least_rate = std::uint64_t{64} << 20;
  /// The costs by which broadcasts choose the plan for bulk data, in groups that have none of their own.
  scoll::bulk_costs bulk_costs{};
  /// The plan for the bulk data of broadcasts that name none, in groups that have none of their own; if not
  /// set, it is chosen by costs.
  std::optional<scoll::bulk_plan> bulk_plan{};
  /// The number of threads for hooks that compute for long.
  std::size_t workers = 2;
  /// The number of functions that wait for a thread; further ones are `busy`.
  std::size_t worker_queue = 256;
  /// The bounds of the function shipper.
  ship_limits ship{};
  /// The path of the control socket of a program that serves one (`node_control`); `{node}` in it stands for
  /// the id of the node. Empty: there is none.
  std::string control{};
  /// Receives the log of the node, and must outlive it; null: there is no log.
  log_sink* log = nullptr;
  /// How connections prove who is at their ends. Mode `none` believes whoever reaches the port and knows the
  /// cluster's name.
  transport::security_options security{};
  /// Who may call which functions, and who may have which services broadcast. While it is empty, everybody
  /// may do everything.
  call_rights allow{};
  /// The options of the links. Their `self`, `cluster` and `incarnation` are overwritten by those above, and
  /// so is their `security`, unless `security.mode` is none.
  transport::endpoint_options link{};

  status validate() const;
};

}  // namespace scoll
