#pragma once

#include <chrono>
#include <cstdint>
#include <string_view>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"

namespace scoll::sim {

/// The news that liveness tells one host about another.
enum class news : std::uint8_t {
  dead,          ///< its latest life that has crashed, perhaps after the next one has begun
  alive,         ///< its present life
  falsely_dead,  ///< its present life
};

/// How a rail fails.
enum class rail_end : std::uint8_t {
  silent,   ///< nothing passes
  one_way,  ///< nothing leaves the host
  refused,  ///< connections are reset, and new ones refused
};

/// What the network does to the hosts, and what liveness tells them.
namespace events {

using std::chrono::microseconds;

/// The connections between two hosts break.
struct cut {
  static constexpr std::string_view name = "cut";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// The same, and only the first host notices.
struct half_open {
  static constexpr std::string_view name = "half_open";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// All connections of two hosts carry nothing any more, and neither end notices. New ones work.
struct lose_all {
  static constexpr std::string_view name = "lose_all";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
};

/// Nothing gets through for a while.
struct block {
  static constexpr std::string_view name = "block";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  microseconds lasts{0};
};

/// Nothing gets through between two sides for a while.
struct partition {
  static constexpr std::string_view name = "partition";
  static constexpr bool fault = true;
  number_set side;
  microseconds lasts{0};
};

struct slow {
  static constexpr std::string_view name = "slow";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  microseconds extra{0};
  microseconds lasts{0};
};

struct narrow {
  static constexpr std::string_view name = "narrow";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t factor = 1;
  microseconds lasts{0};
};

/// The next pieces arrive altered.
struct corrupt {
  static constexpr std::string_view name = "corrupt";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t pieces = 1;
};

/// Connections are refused for a while.
struct refuse {
  static constexpr std::string_view name = "refuse";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  microseconds lasts{0};
};

/// A host stands still.
struct stall {
  static constexpr std::string_view name = "stall";
  static constexpr bool fault = true;
  std::uint32_t host = 0;
  microseconds lasts{0};
};

struct crash {
  static constexpr std::string_view name = "crash";
  static constexpr bool fault = true;
  std::uint32_t host = 0;
  bool silent = false;
};

/// A connection breaks when so many more frames have arrived.
struct cut_after {
  static constexpr std::string_view name = "cut_after";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t frames = 1;
};

/// All connections of a host break at once.
struct storm {
  static constexpr std::string_view name = "storm";
  static constexpr bool fault = true;
  std::uint32_t host = 0;
};

/// Two hosts lose the transport of their bulk data for a while.
struct bulk_outage {
  static constexpr std::string_view name = "bulk_outage";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  microseconds lasts{0};
};

/// Bytes take longer between two hosts, on the transport of bulk data alone.
struct bulk_narrow {
  static constexpr std::string_view name = "bulk_narrow";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t factor = 1;
  microseconds lasts{0};
};

/// The next connection attempts arrive a second time, later.
struct repeat_connects {
  static constexpr std::string_view name = "repeat_connects";
  static constexpr bool fault = true;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint32_t attempts = 1;
  microseconds later{0};
};

/// One of several rails of a host, or of all hosts, fails for a while. The others go on.
struct rail_down {
  static constexpr std::string_view name = "rail_down";
  static constexpr bool fault = true;
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
  bool all_hosts = false;
  rail_end how = rail_end::silent;
  microseconds lasts{0};
};

/// Datagrams are lost from now on: one in so many; 0: none.
struct lossy {
  static constexpr std::string_view name = "lossy";
  static constexpr bool fault = false;
  std::uint32_t loss_ppm = 0;
};

/// Liveness tells a host some news.
struct verdict {
  static constexpr std::string_view name = "verdict";
  static constexpr bool fault = true;
  std::uint32_t hearer = 0;
  std::uint32_t about = 0;
  news what = news::dead;
};

}  // namespace events
}  // namespace scoll::sim
