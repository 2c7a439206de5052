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

constexpr std::size_t chunk_bytes = 4096;  // of streams, which the gossip does not use
constexpr std::size_t most_violations = 20;

gossip::configuration_ptr configuration_of(std::uint32_t hosts, nanoseconds interval) {
  std::vector<std::string> names;
  names.reserve(hosts);
  for (std::uint32_t i = 0; i < hosts; ++i) names.push_back(testing::sim_network::address_of(i));
  return gossip::configuration::make(names, interval).value();
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
      world(p.seed, p.hosts),
      network(world, chunk_bytes),
      datagrams(network),
      weather(draw_gossip_weather(draws, faults, hosts)),
      shared(configuration_of(hosts, gossip_interval)),
      other(configuration_of(hosts, gossip_interval + milliseconds(50))),
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
