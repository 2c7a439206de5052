#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "scoll/collective/outcome.hpp"
#include "tools/scoll-sim/cluster/streaming_service.hpp"
#include "tools/scoll-sim/plan/policy_events.hpp"

namespace scoll::sim {

/// The items of a broadcast, as its root has read them.
struct stream_record {
  events::reading how;
  std::map<std::uint32_t, std::uint32_t> came;  ///< the items of each rank
  std::uint32_t taken = 0;                      ///< of all ranks
  std::uint32_t put = 0;
  std::uint32_t most_ahead = 0;  ///< the most items that were put and had not been taken
  bool waited = false;           ///< the `put` of some member had to wait
  bool left = false;             ///< the root did not read to the end
  bool over = false;             ///< more came than was to be collected
  std::string wrong;             ///< what was wrong with the first item that was

  /// The root has read an item.
  void take(std::uint32_t rank, const stream_item& item);
  /// Says what is wrong with the items of members that are merged; nothing if they are complete.
  std::string missing(const outcome& account) const;
};

}  // namespace scoll::sim
