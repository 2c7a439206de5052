#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cluster.hpp"

namespace scoll::sim {

/// A property that did not hold, and where.
struct violation {
  std::string property;
  std::string what;
};
using violations = std::vector<violation>;

/// What must hold of every broadcast, whatever happened; checked when the dust has settled.
void check_broadcasts(const cluster& c, violations& found);
/// What must hold of every live node when nothing has happened for a while.
void check_settled(cluster& c, violations& found);
/// What must hold at any time: bounds on what is held.
void check_bounds(cluster& c, violations& found);
/// When all faults are over everybody who lives can create a group and reach everybody.
void check_roll_call(const cluster& c, violations& found);
/// Every life of a host has a greater incarnation than those before it, whatever its disk and clock did.
void check_incarnations(const cluster& c, violations& found);
/// When the last group has been destroyed no live node holds any.
void check_farewell(cluster& c, violations& found);
/// Every life has ended in order.
void check_shutdown(const cluster& c, violations& found);

}  // namespace scoll::sim
