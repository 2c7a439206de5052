#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/coro/time.hpp"

namespace scoll::sim {

/// The kinds of events in a run. The operands are listed beside each kind. Hosts are numbered from 0; sets of
/// hosts are bit masks.
enum class event_kind : std::uint8_t {
  wires,      ///< near latency ns, far latency ns, jitter ns, ps per byte, hosts per rack, chunk bytes
  clock,      ///< host, offset ns, drift ppm + 1,000,000
  group,      ///< number, creator, tree kind, tree parameter, members, hooked service (0 or 1)
  bcast,      ///< number, group, root, payload bytes, work us, deadline us, bound us, prepare us
  hooks,      ///< broadcast, ranks whose prepare refuses, execute fails, throws, gives too much
  cancel,     ///< broadcast
  cut,        ///< host, host
  half_open,  ///< host that notices, host that does not
  block,      ///< from, to, us
  partition,  ///< hosts on one side, us
  slow,       ///< from, to, extra us, us
  narrow,     ///< from, to, factor, us
  corrupt,    ///< from, to, pieces
  refuse,     ///< from, to, us
  stall,      ///< host, us
  crash,      ///< host, silent (0 or 1)
  boot,       ///< host
  cut_after,  ///< from, to, frames: breaks when so many have arrived
  storm,      ///< host: all its connections break at once
  destroy,    ///< group, host that asks for its end
  stray,      ///< broadcast, host, `stray_kind`: a request that must be refused
  verdict,    ///< host that hears, host it is about, `news`
  subset,     ///< broadcast, hosts that it addresses besides its root
  call,       ///< number, from, to, argument bytes, work us, deadline us, `errand_bit`s, result bytes
  call_stop,  ///< call, or haul
  haul,       ///< number, from, to, exposed bytes, work us, deadline us, `errand_bit`s, shape (`shape_of`)
};

/// The news that liveness tells one host about another.
enum class news : std::uint8_t {
  dead,          ///< its latest life that has crashed, perhaps after the next one has begun
  alive,         ///< its present life
  falsely_dead,  ///< its present life
};

enum class stray_kind : std::uint8_t {
  repeated,  ///< the root repeats its request to a child that has executed it; the host chooses the child
  stranger,  ///< the host, which is not the member's parent, sends it a request
};

struct plan_event {
  nanoseconds at{0};
  event_kind kind = event_kind::cut;
  std::array<std::uint64_t, 8> operands{};
  friend bool operator==(const plan_event&, const plan_event&) = default;
};

enum class fault_profile : std::uint8_t {
  none,
  light,  ///< a few cuts, delays and short stalls
  swarm,  ///< each seed draws which kinds of faults it has, and how many
};
enum class workload : std::uint8_t {
  mixed,   ///< trees, sizes, failing hooks, deadlines, cancels, bursts
  plain,   ///< broadcasts that only the network can make fail
  ship,    ///< shipped calls, some of which move bulk data
  gossip,  ///< participants of the gossip instead of broadcasts
};

/// All events of one run, in order of time. A run is a function of its plan alone: a shorter run is a plan
/// with events removed.
struct plan {
  std::uint64_t seed = 0;  ///< for the network's random draws during the run
  std::uint32_t hosts = 16;
  std::vector<plan_event> events;
  workload work = workload::mixed;  ///< with `gossip` there are no events: the run itself draws everything
  fault_profile faults = fault_profile::swarm;  ///< for `gossip`
};

struct plan_options {
  std::uint64_t seed = 1;
  std::uint32_t hosts = 16;  ///< 2 to 64
  fault_profile faults = fault_profile::swarm;
  workload work = workload::mixed;
};

std::optional<fault_profile> fault_profile_named(std::string_view name);
std::optional<workload> workload_named(std::string_view name);
std::string_view to_string(fault_profile profile);
std::string_view to_string(workload work);

bool is_fault(event_kind kind) noexcept;
std::size_t operand_count(event_kind kind) noexcept;
std::string_view to_string(event_kind kind) noexcept;

/// Draws a whole run in advance.
plan draw_plan(const plan_options& options);

/// Writes one line per event: "<ns> <kind> <operands>".
std::string to_text(const plan& p);
/// Reads a plan; lines that begin with '#' are comments. Throws `std::runtime_error` with the line's number.
plan from_text(std::string_view text);

}  // namespace scoll::sim
