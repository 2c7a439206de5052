#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/cluster/cluster.hpp"

namespace scoll::sim {

/// A property that did not hold, and where it failed.
struct violation {
  std::string property;
  std::string what;
};
using violations = std::vector<violation>;

inline void report(violations& found, std::string_view property, std::uint32_t host,
                   const std::string& what) {
  found.push_back({std::string(property), fmt::format("host {}: {}", host, what)});
}

/// Longer than any round trip, through a tree too, in a network without faults.
inline constexpr nanoseconds long_way = std::chrono::milliseconds(250);
/// What a host ends of its own work, without waiting for another, ends in the same turn.
inline constexpr nanoseconds one_turn = std::chrono::milliseconds(1);

// Each function checks what must hold at its moment of a run.

// At any time: bounds on running work and on held resources.
void check_bounds(cluster& c, violations& found);
void check_call_bounds(cluster& c, violations& found);
void check_admissions(cluster& c, violations& found);
/// Without faults, all members hear of a revoke soon.
void check_revokes_are_prompt(cluster& c, violations& found);

/// Guarded connections, and outsiders.
void check_guards(cluster& c, violations& found);

// When all activity has ended, whatever happened.
void check_broadcasts(const cluster& c, violations& found);
void check_calls(const cluster& c, violations& found);
/// Calls to hosts that stood still.
void check_silence(const cluster& c, violations& found);
void check_revokes(const cluster& c, violations& found);
/// The memory that descriptors in calls refer to, and its transfers.
void check_hauls(const cluster& c, violations& found);
/// Hardware that reads the memory of peers.
void check_rights(const cluster& c, violations& found);
/// The change of keys.
void check_keys(const cluster& c, violations& found);
/// The bulk data of broadcasts.
void check_freights(cluster& c, violations& found);
/// The outcomes of agreements, and the groups that shrinks have made.
void check_agreements(cluster& c, violations& found);
/// Each life of a host has a greater incarnation than the lives before it, whatever its disk and clock did.
void check_incarnations(const cluster& c, violations& found);

// When nothing has happened for a while.
void check_settled(cluster& c, violations& found);
void check_rights_settled(const cluster& c, violations& found);
void check_freights_settled(const cluster& c, violations& found);
void check_calls_settled(cluster& c, violations& found);
void check_groups_settled(cluster& c, violations& found);
void check_admissions_settled(const cluster& c, violations& found);
void check_liveness_settled(cluster& c, violations& found);
void check_revokes_settled(cluster& c, violations& found);

// When all faults are over: every live node can create a group, reach all others and answer their calls.
void check_roll_call(const cluster& c, violations& found);
void check_call_roll_call(const cluster& c, violations& found);

/// No live node holds a created group when the last one has been destroyed.
void check_farewell(cluster& c, violations& found);
/// Every life has ended in good order.
void check_shutdown(const cluster& c, violations& found);

/// The longest time, by its host's clock, for an operation with a deadline. Stalls of the host are added.
nanoseconds allowance(const cluster& c, std::uint32_t host, nanoseconds deadline, nanoseconds began,
                      nanoseconds ended);

}  // namespace scoll::sim
