#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster.hpp"

namespace scoll::sim {

/// A property that did not hold, and where it failed.
struct violation {
  std::string property;
  std::string what;
};
using violations = std::vector<violation>;

/// Checks what must hold for every broadcast, whatever happened, when all activity has ended.
void check_broadcasts(const cluster& c, violations& found);
/// Checks what must hold for every live node when nothing has happened for a while.
void check_settled(cluster& c, violations& found);
/// Checks what must hold at any time: bounds on held resources.
void check_bounds(cluster& c, violations& found);
/// Checks that every live node can create a group and reach all others when all faults are over.
void check_roll_call(const cluster& c, violations& found);
/// Checks that each life of a host has a greater incarnation than the lives before it, whatever its disk and
/// clock did.
void check_incarnations(const cluster& c, violations& found);
/// Checks that no live node holds a group when the last group has been destroyed.
void check_farewell(cluster& c, violations& found);
/// Checks that every life has ended in good order.
void check_shutdown(const cluster& c, violations& found);

}  // namespace scoll::sim
