#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <variant>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/number_set.hpp"

namespace scoll::sim {

/// The news that liveness tells one host about another.
enum class news : std::uint8_t {
  dead,          ///< its latest life that has crashed, perhaps after the next one has begun
  alive,         ///< its present life
  falsely_dead,  ///< its present life
};

/// A request that must be refused, sent soon after the broadcast that it imitates.
enum class stray_kind : std::uint8_t {
  repeated,  ///< the root repeats its request to a child that has executed it; the host chooses the child
  stranger,  ///< the host, which is not the member's parent, sends it a request
  bygone,    ///< the root sends a child a request of its earlier life; the host chooses the child
};

/// The services of the simulated hosts. Each is one mixture of hooks.
enum class service_kind : std::uint8_t {
  bare,       ///< `execute` only
  hooked,     ///< every hook, all of them coroutines
  plain,      ///< every hook, all of them plain functions
  brief,      ///< a plain `execute` that is short
  versioned,  ///< some hosts serve version 1, the others version 2
};

/// What a broadcast does about members that are known to be dead.
enum class dead_choice : std::uint8_t { by_default, refuse, try_others };

/// The members that a broadcast is for.
enum class audience : std::uint8_t {
  chosen,     ///< all, or those that a `subset` names
  alive,      ///< those that the root holds alive
  same_view,  ///< the same, and members with another view refuse
};

/// The kinds of events in a run: one struct each, whose members are its operands in the order of a script.
/// Numbers of hosts count from 0. `fault` says whether it may explain a failure.
namespace events {

using std::chrono::microseconds;

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

/// The hosts that serve version 1 of the versioned service, from the beginning.
struct old_servers {
  static constexpr std::string_view name = "old_servers";
  static constexpr bool fault = false;
  number_set hosts;
};

/// Every host takes part in the gossip, and its node follows it, from the beginning.
struct gossip {
  static constexpr std::string_view name = "gossip";
  static constexpr bool fault = false;
};

/// A host creates a group.
struct group {
  static constexpr std::string_view name = "group";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t creator = 0;
  std::uint8_t tree = 0;
  std::uint32_t tree_parameter = 0;
  number_set members;
  service_kind service = service_kind::bare;
  std::uint32_t second_parameter = 0;
  std::uint32_t third_parameter = 0;
  bool entities = false;     ///< the members have entities
  microseconds deadline{0};  ///< 0: the usual one
};

/// Hosts adopt a group by themselves, now and after each boot.
struct adopt {
  static constexpr std::string_view name = "adopt";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint8_t tree = 0;
  std::uint32_t tree_parameter = 0;
  number_set members;
  service_kind service = service_kind::bare;
  number_set holders;     ///< the members that adopt it; the others do not know it
  number_set dissenters;  ///< those of them that adopt another membership under the same id
};

struct bcast {
  static constexpr std::string_view name = "bcast";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint64_t group = 0;
  std::uint32_t root = 0;
  std::uint64_t bytes = 0;
  microseconds work{0};
  microseconds deadline{0};          ///< 0: none
  microseconds processing_bound{0};  ///< 0: the service's
  microseconds prepare{0};
};

/// The manner of a broadcast, before it begins.
struct manner {
  static constexpr std::string_view name = "manner";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  dead_choice dead = dead_choice::by_default;
  audience to = audience::chosen;
  microseconds extension{0};  ///< by which some members extend the processing bound; 0: not
  number_set brimful;         ///< ranks whose reply takes exactly the capacity
};

/// Ranks whose hooks fail, before the broadcast begins.
struct hooks {
  static constexpr std::string_view name = "hooks";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  number_set refusing;
  number_set failing;
  number_set throwing;
  number_set oversized;
};

/// The hosts that a broadcast addresses besides its root, before it begins.
struct subset {
  static constexpr std::string_view name = "subset";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  number_set hosts;
};

struct cancel {
  static constexpr std::string_view name = "cancel";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
};

/// A host asks for the end of a group.
struct destroy {
  static constexpr std::string_view name = "destroy";
  static constexpr bool fault = false;
  std::uint64_t group = 0;
  std::uint32_t host = 0;
};

struct stray {
  static constexpr std::string_view name = "stray";
  static constexpr bool fault = false;
  std::uint64_t broadcast = 0;
  std::uint32_t host = 0;
  stray_kind kind = stray_kind::repeated;
};

struct call {
  static constexpr std::string_view name = "call";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t bytes = 0;
  microseconds work{0};
  microseconds deadline{0};     ///< 0: none
  std::uint64_t behaviour = 0;  ///< `errand_bit`s
  std::uint64_t result_bytes = 0;
};

/// A call that carries the descriptor of exposed memory.
struct haul {
  static constexpr std::string_view name = "haul";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t exposed_bytes = 0;
  microseconds work{0};
  microseconds deadline{0};     ///< 0: none
  std::uint64_t behaviour = 0;  ///< `errand_bit`s
  std::uint64_t shape = 0;      ///< see `shape_of`
};

/// The caller stops a call or a haul.
struct call_stop {
  static constexpr std::string_view name = "call_stop";
  static constexpr bool fault = false;
  std::uint64_t number = 0;
};

struct boot {
  static constexpr std::string_view name = "boot";
  static constexpr bool fault = false;
  std::uint32_t host = 0;
};

// ---- faults

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

/// What happens. The order of the kinds is part of every trace hash: a new kind comes last.
using happening =
    std::variant<events::wires, events::clock, events::two_rails, events::old_servers, events::gossip,
                 events::group, events::adopt, events::bcast, events::manner, events::hooks, events::subset,
                 events::cancel, events::destroy, events::stray, events::call, events::haul,
                 events::call_stop, events::boot, events::cut, events::half_open, events::block,
                 events::partition, events::slow, events::narrow, events::corrupt, events::refuse,
                 events::stall, events::crash, events::cut_after, events::storm, events::bulk_outage,
                 events::repeat_connects, events::lossy, events::verdict, events::bulk_narrow>;

/// An event and its time in the world.
struct plan_event {
  nanoseconds at{0};
  happening what;
};

/// The place of a kind of event in `happening`.
template <class Event, std::size_t I = 0>
constexpr std::size_t index_of_event() {
  if constexpr (std::is_same_v<std::variant_alternative_t<I, happening>, Event>) {
    return I;
  } else {
    return index_of_event<Event, I + 1>();
  }
}
template <class Event>
inline constexpr std::size_t event_index = index_of_event<Event>();

inline bool is_fault(const happening& e) noexcept {
  return std::visit([](const auto& what) { return what.fault; }, e);
}

}  // namespace scoll::sim
