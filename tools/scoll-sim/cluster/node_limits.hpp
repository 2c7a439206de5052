#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "scoll/node_options.hpp"
#include "tools/scoll-sim/cluster/times.hpp"
#include "tools/scoll-sim/plan/world_events.hpp"

namespace scoll::sim {

/// The segment size, in bytes, of a transfer that does not choose its own.
constexpr std::uint32_t sim_segment_bytes = 12'000;
/// How long a member keeps a group that it has not seen used before it asks the creator.
constexpr nanoseconds sim_lease = std::chrono::seconds(4);

/// The limits of the nodes of a run. They are small, so that runs reach them.
inline node_options small_options(std::uint32_t host, std::uint32_t hosts,
                                  const events::node_memory& memory) {
  node_options options;
  options.id = host + 1;
  options.cluster = "sim";
  options.directory = "node";
  options.rtt_estimate = rtt_estimate;
  options.level_margin = level_margin;
  options.group_lease = sim_lease;
  options.max_operations = 8 + 3 * hosts / 2;  // enough for the roll call
  options.max_pending_admissions = 4;
  options.reply_memory = memory.parts;
  options.repair_memory = memory.kept;
  options.link.window = {8, 8, 8, 4};
  options.link.clients = 2 + hosts / 4;
  options.link.queue_limit = std::max(16U, hosts);
  options.link.transfer_window = 6;
  options.link.transfer_segment_bytes = sim_segment_bytes;
  options.link.transfer_buffers = 6;
  options.link.parked_limit = 8 + hosts;
  options.ship.handlers = 8 + hosts;
  options.ship.queue = options.link.queue_limit;
  options.ship.eager_bytes = 1'024;
  options.ship.large_bytes = 40'000;
  options.ship.large_memory = 120'000;
  options.ship.large_hold = std::chrono::seconds(2);
  return options;
}

}  // namespace scoll::sim
