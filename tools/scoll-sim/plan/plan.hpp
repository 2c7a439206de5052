#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tools/scoll-sim/plan/events.hpp"

namespace scoll::sim {

enum class fault_profile : std::uint8_t {
  none,
  light,  ///< a few cuts, delays and short stalls
  swarm,  ///< each seed draws which kinds of faults it has, and how many
};
enum class workload : std::uint8_t {
  mixed,   ///< everything that a user can say; each seed draws which of it
  plain,   ///< broadcasts that only the network can make fail
  ship,    ///< shipped calls, some of which move bulk data
  gossip,  ///< participants of the gossip instead of nodes
  agree,  ///< every state of the small models of an agreement; nothing is drawn, and seeds make no difference
  revoke,    ///< every death in a small group that is revoked; likewise
  bulk,      ///< like `mixed`, with fewer broadcasts, of which every other one has bulk data
  groups,    ///< deaths at each step in the life of small groups, and stories of their ends; likewise
  rails,     ///< endpoints with several rails that fail, instead of nodes
  verbs,     ///< likewise, and some rails are made by RDMA devices, which fail
  failures,  ///< like `mixed`, and broadcasts choose what the failure of a member does
  streams,   ///< like `mixed`, and the members of most groups stream their replies
};

/// True if every seed of the workload is the same.
constexpr bool has_no_seeds(workload work) noexcept {
  return work == workload::agree || work == workload::revoke || work == workload::groups;
}

/// The most hosts of one run.
inline constexpr std::uint32_t most_hosts = number_set::limit;

/// All events of one run, in order of time. A run is a function of its plan alone: a shorter run is a plan
/// with events removed.
struct plan {
  std::uint64_t seed = 0;  ///< for the network's random draws during the run
  std::uint32_t hosts = 16;
  std::vector<plan_event> events;
  workload work =
      workload::mixed;  ///< without events for `gossip`, `rails`, `verbs`, and where `has_no_seeds`
  fault_profile faults = fault_profile::swarm;  ///< for `gossip`, `rails` and `verbs`
};

struct plan_options {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 16;  ///< 1 to `most_hosts`
  fault_profile faults = fault_profile::swarm;
  workload work = workload::mixed;
};

std::optional<fault_profile> fault_profile_named(std::string_view name);
std::optional<workload> workload_named(std::string_view name);
std::string_view to_string(fault_profile profile);
std::string_view to_string(workload work);

/// Draws a whole run in advance.
plan draw_plan(const plan_options& options);

}  // namespace scoll::sim
