#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "tools/scoll-sim/verbs/device_fault.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::sim {

/// The kinds of runs, each with properties of its own.
enum class rails_weather : std::uint8_t {
  calm,      ///< nothing fails: nothing moves and nothing is sent twice
  pauses,    ///< hosts stand still, and no rail fails: nothing moves
  gentle,    ///< one rail fails at a time, and has time to come back: stalls are short
  flapping,  ///< the first rail fails and comes back all the time: nothing flaps
  storm,     ///< anything, as long as one rail lives
  altered,  ///< bytes of one rail at a time arrive altered: connections break, and nothing wrong is delivered
  uneven,   ///< a rail is narrow or slow, and carries everything while the others fail
  crossed,  ///< a host names the rails of its peers in a wrong order, and rails fail one at a time
  switched,  ///< a switch fails: one rail of all hosts, both ways; or two of three switches do
  restless,  ///< rails go and come back at random, and two are never down at once
  opposite,  ///< all rails of a host drop what goes one way, not all the same way: nothing can be compared
  lonely,    ///< a rail of one host fails for seconds, or those of three hosts at once: only theirs are dead
  returned,  ///< a rail is back after a long time, and at once the other one falls silent
  claimed,   ///< a second server claims the id of one that is there, while rails fail one at a time
  hinted,    ///< an interface tells that it is down, and that it is back, and others tell so for no reason
  devices,   ///< RDMA devices of one rail at a time fail, and have time to come back
};

enum class rails_fault_kind : std::uint8_t {
  cut,        ///< connections are reset
  block,      ///< nothing passes, either way
  block_out,  ///< nothing passes, one way
  half_open,  ///< connections are reset at one end
  lose_all,   ///< connections carry nothing any more, and new ones work
  refuse,     ///< connections are reset, and new ones refused
  slow,       ///< everything takes longer
  stall,      ///< a host stands still; the last kind that storms have
  block_in,   ///< nothing arrives at the host
  alter,      ///< the next pieces arrive altered, both ways
  narrow,     ///< bytes take longer, both ways
};
inline constexpr std::size_t storm_fault_kinds = static_cast<std::size_t>(rails_fault_kind::stall) + 1;

/// One fault of a rail of a host towards all other hosts, or of the rail of all hosts, as of a switch.
struct rails_fault {
  nanoseconds at{0};
  nanoseconds until{0};
  rails_fault_kind kind = rails_fault_kind::cut;
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
  bool all_hosts = false;
  std::uint32_t amount = 0;  ///< how many pieces are altered, or how much longer bytes take

  bool touches(std::uint32_t of, std::uint32_t number) const noexcept {
    return (all_hosts || host == of) && (kind == rails_fault_kind::stall || rail == number);
  }
};

/// What an interface of a host tells of itself.
struct rails_hint {
  nanoseconds at{0};
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
  bool usable = false;
  bool is_true = false;  ///< a fault has just begun, or ended
};

/// What the seed draws for a run.
struct rails_plan {
  rails_weather weather = rails_weather::calm;
  std::uint32_t hosts = 3;
  std::uint32_t rails = 2;
  bool calls_one_way = false;  ///< only the first host calls
  /// The host that names the rails of its peers in a wrong order.
  std::optional<std::uint32_t> misled;
  /// The host whose id a second server claims.
  std::optional<std::uint32_t> claimed;
  /// A host that nobody reaches for longer than anybody waits.
  std::optional<std::uint32_t> cut_off;
  bool transfers = false;                   ///< class bulk moves memory
  std::vector<bool> by_rdma;                ///< by rail; empty: none is
  std::uint32_t windows = 0;                ///< of memory, of each link by RDMA
  std::vector<device_fault> device_faults;  ///< in the order of their times
  /// By rail; slow ones only if there are transfers.
  std::vector<std::uint64_t> ps_per_byte;
  std::vector<rails_fault> faults;
  std::vector<rails_hint> hints;
  nanoseconds faults_end{0};
};

/// True shortly before a fault, during it, and for a while after it.
bool is_near_fault(const rails_plan& p, nanoseconds now) noexcept;

rails_plan draw_rails(const plan& p);
/// Draws one of the kinds of runs from `altered` on, in most seeds, in place of what has been drawn.
void draw_other_weather(const plan& p, rails_plan& drawn);

/// The hosts, and what fails when, one fault in each line.
std::string describe(const rails_plan& p);

/// When the first fault begins, and how long rails have to recover after one.
inline constexpr nanoseconds first_rails_fault = std::chrono::seconds(2);
inline constexpr nanoseconds rails_respite = std::chrono::seconds(15);

/// Gives the rails their different speeds, if there are transfers.
void set_speeds(testing::sim_network& network, const rails_plan& p);

/// Lets a fault begin. Faults end by themselves.
void carry_out(const rails_fault& f, testing::sim_network& network, const rails_plan& p);

}  // namespace scoll::sim
