#pragma once

#include <cstdint>

namespace scoll {

/// How far the news of a revoke has come when the await of `revoke` ends, by members that this node tells
/// itself. They pass it on, so the number of members does not matter.
struct revoke_report {
  /// Members whose connection has taken the notice. If one breaks, the notice is sent again.
  std::uint32_t emitted = 0;
  /// Members whose notice waits for a connection, or behind notices about other groups.
  std::uint32_t connecting = 0;
  /// Members that are held dead, or could not be reached. They are told as soon as they are heard of again.
  std::uint32_t owed = 0;
};

}  // namespace scoll
