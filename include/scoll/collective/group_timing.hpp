#pragma once

#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll {

/// The times by which a broadcast from here to a group is awaited if it has no deadline
/// (docs/writing-a-service.md, "Time").
struct group_timing {
  /// R, the round trip that is allowed for each level: `node_options::rtt_estimate`, or longer if the
  /// connections to the children of the last broadcast from here are slower.
  nanoseconds round_trip{0};
  /// The safe round trip of these connections as probes have measured it, the largest; 0: not known.
  nanoseconds measured{0};
  /// m, which each level keeps in addition.
  nanoseconds level_margin{0};
  /// P, the time that one member may take for its own work.
  nanoseconds processing{0};
  /// L, the levels of the tree.
  std::uint32_t levels = 0;
  /// The time that the root waits at most: L·(R + m) + P.
  nanoseconds longest{0};

  friend constexpr bool operator==(const group_timing&, const group_timing&) = default;
};

}  // namespace scoll
