#include "tools/scoll-sim/gossip/gossip_environment.hpp"

#include <chrono>
#include <utility>
#include <vector>

#include "gossip/threshold.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t stream_chunk_bytes = 4096;  // of streams, which the gossip does not use
constexpr std::size_t most_violations = 20;

constexpr std::uint64_t stream_of_rails = 5077;

/// Half of the runs have one rail, the others two or three.
std::uint32_t draw_rails(gossip_draws& draws) {
  return draws.one_in(2) ? 1 : 2 + draws.below(2);
}

/// The ids grow with the hosts, so that a host's number is its index.
gossip::configuration_ptr configuration_of(std::uint32_t hosts, std::uint32_t rails, nanoseconds interval) {
  constexpr gossip::participant_id between_ids = 10;
  std::vector<gossip::participant_entry> entries(hosts);
  for (std::uint32_t host = 0; host < hosts; ++host) {
    if (rails > 1) entries[host].id = between_ids * (host + 1);
    for (std::uint32_t rail = 0; rail < rails; ++rail)
      entries[host].addresses.push_back(testing::sim_network::address_of(rail * hosts + host));
  }
  return gossip::configuration::of_entries(std::move(entries), interval).value();
}

std::uint32_t threshold_of(std::uint32_t hosts) {
  gossip::threshold_input in;
  in.participants = hosts;
  return gossip::threshold_cycles(in);
}

}  // namespace

gossip_environment::gossip_environment(const plan& p, testing::sim_world::observer observer)
    : hosts(p.hosts),
      faults(p.faults),
      draws(p.seed),
      rail_draws(p.seed, stream_of_rails),
      rails(draw_rails(rail_draws)),
      world(p.seed, p.hosts),
      network(world, stream_chunk_bytes, p.hosts * rails),
      datagrams(network),
      weather(draw_gossip_weather(draws, faults, hosts)),
      shared(configuration_of(hosts, rails, gossip_interval)),
      other(configuration_of(hosts, rails, gossip_interval + milliseconds(50))),
      threshold(threshold_of(hosts)) {
  world.observe(observer);
  testing::sim_path& way = network.common_path();
  way.model.latency = milliseconds(1) + draws.below(nanoseconds(3'000'000));
  way.model.jitter = milliseconds(1);
}

void gossip_environment::violated(std::string property, std::string what) {
  if (report.found.size() >= most_violations) return;
  const auto ms = now().count() / 1'000'000;
  report.found.push_back({std::move(property), fmt::format("{} ms: {}", ms, std::move(what))});
}

}  // namespace scoll::sim
