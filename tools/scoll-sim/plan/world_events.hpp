#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"

/// The events at the beginning of a run: they describe its hosts and wires.
namespace scoll::sim::events {

/// The costs of the wires, at the beginning.
struct wires {
  static constexpr std::string_view name = "wires";
  static constexpr bool fault = false;
  nanoseconds near_latency{0};  ///< within a rack
  nanoseconds far_latency{0};
  nanoseconds jitter{0};
  std::uint64_t ps_per_byte = 0;
  std::uint32_t rack_hosts = 1;
  std::uint32_t chunk_bytes = 4096;
};

/// A host's clock, at the beginning.
struct clock {
  static constexpr std::string_view name = "clock";
  static constexpr bool fault = false;
  std::uint32_t host = 0;
  nanoseconds offset{0};
  std::uint64_t drift_ppm_biased = 1'000'000;  ///< the drift in parts per million, plus 1,000,000
};

/// Bulk data has a transport of its own, from the beginning.
struct two_rails {
  static constexpr std::string_view name = "two_rails";
  static constexpr bool fault = false;
};

/// Every host has so many rails, from the beginning: interfaces of its own, each with an address.
struct rails {
  static constexpr std::string_view name = "rails";
  static constexpr bool fault = false;
  std::uint32_t count = 2;
};

/// The hosts that serve version 1 of the versioned service, from the beginning.
struct old_servers {
  static constexpr std::string_view name = "old_servers";
  static constexpr bool fault = false;
  number_set hosts;
};

/// The hosts whose nodes are clients: no server lists them, and nobody calls them. From the beginning.
struct clients {
  static constexpr std::string_view name = "clients";
  static constexpr bool fault = false;
  number_set hosts;
};

/// Every host takes part in the gossip, and its node follows it, from the beginning.
struct gossip {
  static constexpr std::string_view name = "gossip";
  static constexpr bool fault = false;
};

/// The transport of bulk data has hardware that reads the memory of peers, from the beginning.
struct remote_memory {
  static constexpr std::string_view name = "remote_memory";
  static constexpr bool fault = false;
  std::uint32_t slabs = 4;  ///< for each direction
  std::uint32_t slab_bytes = 16'384;
};

/// Every node has so many bytes for parts of replies, and for replies that are kept, from the beginning.
struct node_memory {
  static constexpr std::string_view name = "node_memory";
  static constexpr bool fault = false;
  std::uint32_t parts = 8U << 20U;
  std::uint32_t kept = 4U << 20U;
};

}  // namespace scoll::sim::events
