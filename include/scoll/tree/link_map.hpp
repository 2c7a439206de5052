#pragma once

/// What messages between the members of a group cost, for predicting trees.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace scoll {

/// LogP with merging, in ns. Everything but `latency` and what `gap` exceeds `send` by is a processor's time.
struct link_costs {
  std::uint64_t send = 0;     ///< o of who sends: a request to a child, or the reply to the parent
  std::uint64_t receive = 0;  ///< o of who receives a request, until it can forward it; with its waking up
  std::uint64_t latency = 0;  ///< L: on the way, with nobody's processor busy
  std::uint64_t gap = 0;      ///< g: between two sends of one member, if more than `send`
  std::uint64_t merge = 0;    ///< what a child's reply costs its parent: receiving and merging it
  std::uint64_t wake = 0;     ///< what it costs beside to wake up for replies, once for all that are there

  friend bool operator==(const link_costs&, const link_costs&) = default;
};

/// Members that are reached in the same way and at the same cost.
struct link_class {
  std::string name;  ///< for people: "same host", "network"
  link_costs costs;
};

/// Who is where, and what messages between them cost. Members are meant by relative rank: 0 is the root, from
/// whom the costs were measured.
struct link_map {
  /// All members alike, each on a host of its own.
  static link_map uniform(const link_costs& costs) { return {.classes = {{"all links", costs}}}; }

  std::vector<link_class> classes;           ///< at least one
  std::vector<std::uint32_t> class_of = {};  ///< by member: how the root reaches it; empty: all by the first
  std::optional<std::uint32_t> local = {};   ///< the class of members that share a host, if there is one
  std::vector<std::uint32_t> host_of = {};   ///< by member; empty: each has a host of its own
  std::vector<std::uint32_t> processors = {};  ///< of each host; 0: as many as it has members

  /// From one member to another. The root's links are known. Two others on one host reach each other as
  /// `local` says; else the worse of their classes is assumed, because nobody has measured between them.
  const link_costs& between(std::uint32_t a, std::uint32_t b) const noexcept;
};

}  // namespace scoll
