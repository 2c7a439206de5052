#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scoll/coro/time.hpp"
#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/plan/plan.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::sim {

/// The kinds of runs, each with properties of its own.
enum class rails_weather : std::uint8_t {
  calm,      ///< nothing fails: nothing moves and nothing is sent twice
  pauses,    ///< hosts stand still, and no rail fails: nothing moves
  gentle,    ///< one rail fails at a time, and has time to come back: stalls are short
  flapping,  ///< the first rail fails and comes back all the time: nothing flaps
  storm,     ///< anything, as long as one rail lives
};

enum class rails_fault_kind : std::uint8_t {
  cut,        ///< connections are reset
  block,      ///< nothing passes, either way
  block_out,  ///< nothing passes, one way
  half_open,  ///< connections are reset at one end
  lose_all,   ///< connections carry nothing any more, and new ones work
  refuse,     ///< connections are reset, and new ones refused
  slow,       ///< everything takes longer
  stall,      ///< a host stands still
};
inline constexpr std::size_t rails_fault_kinds = static_cast<std::size_t>(rails_fault_kind::stall) + 1;

/// One fault of a rail of a host towards all other hosts, or of the rail of all hosts, as of a switch.
struct rails_fault {
  nanoseconds at{0};
  nanoseconds until{0};
  rails_fault_kind kind = rails_fault_kind::cut;
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
  bool all_hosts = false;
};

/// What the seed draws for a run.
struct rails_plan {
  rails_weather weather = rails_weather::calm;
  std::uint32_t hosts = 3;
  std::uint32_t rails = 2;
  bool calls_one_way = false;  ///< only the first host calls
  std::vector<rails_fault> faults;
  nanoseconds faults_end{0};
};

rails_plan draw_rails(const plan& p);

/// Lets a fault begin. Faults end by themselves.
void carry_out(const rails_fault& f, testing::sim_network& network, const rails_plan& p);

}  // namespace scoll::sim
