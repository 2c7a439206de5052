#pragma once

/// The costs of messages between the members of a group, from which trees are predicted.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scoll/bulk/costs.hpp"

namespace scoll {

/// The parameters of LogP with merging, in ns. Everything is processor time, except `latency` and the part by
/// which `gap` exceeds `send`.
struct link_costs {
  /// The sender's o: for a request to a child, or for the reply to the parent.
  std::uint64_t send = 0;
  /// The receiver's o: from the arrival of a request until the receiver can forward it, including its
  /// wake-up.
  std::uint64_t receive = 0;
  /// L: the time on the way, during which no processor works.
  std::uint64_t latency = 0;
  /// g: the time between two sends of one member, if longer than `send`.
  std::uint64_t gap = 0;
  /// The cost of a child's reply for its parent: receiving and merging it.
  std::uint64_t merge = 0;
  /// The additional cost of waking up for replies, paid once for all that are there.
  std::uint64_t wake = 0;

  friend bool operator==(const link_costs&, const link_costs&) = default;
};

/// Members that are reached in the same way and at the same cost.
struct link_class {
  /// The name for people, such as "same host" or "network".
  std::string name;
  link_costs costs;
  /// The costs of bulk data, if they have been measured.
  std::optional<bulk_costs> bulk = {};
};

/// The places of members, and the costs of messages between them. Members are given by relative rank: 0 is
/// the root, from which the costs were measured.
struct link_map {
  /// A map in which all members are alike, each on a host of its own.
  static link_map uniform(const link_costs& costs) { return {.classes = {{"all links", costs}}}; }

  /// At least one class.
  std::vector<link_class> classes;
  /// The class by which the root reaches each member; empty: all by the first.
  std::vector<std::uint32_t> class_of = {};
  /// The class of members that share a host, if there is one.
  std::optional<std::uint32_t> local = {};
  /// The host of each member; empty: each has a host of its own.
  std::vector<std::uint32_t> host_of = {};
  /// The class of members of one zone on different hosts, if there is one.
  std::optional<std::uint32_t> near = {};
  /// The zone of each member, 0 if it is unknown; empty: all are unknown.
  std::vector<std::uint32_t> zone_of = {};
  /// The number of processors of each host; 0: as many as it has members.
  std::vector<std::uint32_t> processors = {};

  /// The costs from one member to another. The root's links are known. Two other members on one host reach
  /// each other as `local` says, and two in one zone as `near` does. For all others the worse of their two
  /// classes is assumed, because the links between them have not been measured.
  const link_costs& between(std::uint32_t a, std::uint32_t b) const noexcept;
  /// The worst costs of bulk data among all classes, because a plan may use any link; nothing if they have
  /// not been measured for any class.
  std::optional<bulk_costs> bulk() const noexcept;
};

}  // namespace scoll
