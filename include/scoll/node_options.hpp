#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "scoll/collective/options.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"
#include "scoll/ship/options.hpp"
#include "scoll/tree/spec.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll {

/// Everything that can be set on a node; `validate` says what is wrong with a set.
struct node_options {
  node_id id = 0;                          ///< unique in the cluster, not 0
  std::string cluster = "scoll";           ///< nodes of different names do not talk
  std::uint64_t incarnation = 0;           ///< must grow with every start; 0: the wall clock in ns is taken
  std::string directory{};                 ///< where `choose_incarnation` keeps it; "": it is not kept
  tree_spec default_tree{};                ///< for groups that do not choose
  std::optional<tree_spec> pinned_tree{};  ///< what `plan_tree` gives instead of measuring
  /// For broadcasts that do not choose: a broadcast to a group with dead members fails at once and names
  /// them, or it reaches the others.
  dead_members default_dead_members = dead_members::refuse;
  std::uint32_t max_operations = 1024;  ///< broadcasts at once, rooted here or not; more are `busy`
  /// A safe round-trip time between any two nodes, for the time bounds of levels (R in
  /// docs/writing-a-service.md).
  nanoseconds rtt_estimate = std::chrono::milliseconds(20);
  /// The time that each level of a tree keeps back, beside the round trip, so that it answers before its
  /// parent gives up.
  nanoseconds level_margin = std::chrono::milliseconds(5);
  nanoseconds creation_lease =
      std::chrono::seconds(30);        ///< after it an unused group's creator is asked about it
  std::size_t workers = 2;             ///< threads for hooks that burn CPU
  std::size_t worker_queue = 256;      ///< functions waiting for one; more are `busy`
  ship_limits ship{};                  ///< bounds of the function shipper
  transport::endpoint_options link{};  ///< self, cluster and incarnation in it are overwritten by those above

  status validate() const;
};

}  // namespace scoll
