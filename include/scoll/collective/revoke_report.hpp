#pragma once

#include <cstdint>

namespace scoll {

/// Says how far the news of a revoke has come when the await of `revoke` ends. It counts only the members
/// that this node tells itself; they pass the news on to the others.
struct revoke_report {
  /// Members whose connection has taken the notice. If one breaks, the notice is sent again.
  std::uint32_t emitted = 0;
  /// Members whose notice waits for a connection, or behind notices about other groups.
  std::uint32_t connecting = 0;
  /// Members that are held dead, or could not be reached. They are told as soon as they are heard of again.
  std::uint32_t owed = 0;
};

}  // namespace scoll
