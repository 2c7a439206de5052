#include "tools/scoll-sim/gossip/gossip_weather.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint32_t least_for_odd = 5;    // without the odd one, most are still there
constexpr std::uint32_t least_for_fast = 12;  // with few live participants, all are followed

void draw_faults_of_network(gossip_draws& draws, gossip_weather& w) {
  const std::uint32_t most_loss = w.gentle ? 50'000 : 200'000;
  if (!draws.one_in(4)) w.loss_ppm = draws.below(most_loss);
  if (draws.one_in(2)) w.duplicate_ppm = 50'000;
  if (draws.one_in(2)) w.reorder_ppm = 100'000;
  if (draws.one_in(2)) w.corrupt_ppm = w.gentle ? 5'000 : 30'000;
  if (draws.one_in(2)) w.late_ppm = 20'000;
}

void draw_faults_of_hosts(gossip_draws& draws, gossip_weather& w) {
  w.crashes = !draws.one_in(4);
  w.quick = draws.one_in(2);
  w.stalls = draws.one_in(2);
  w.isolation = draws.one_in(2);
  w.partitions = !w.gentle && draws.one_in(2);
  w.skewed = !draws.one_in(3);
  w.fast = draws.one_in(4) && w.hosts >= least_for_fast && !w.partitions;
  w.odd_one = draws.one_in(3) && w.hosts >= least_for_odd;
}

}  // namespace

gossip_weather draw_gossip_weather(gossip_draws& draws, fault_profile faults, std::uint32_t hosts) {
  gossip_weather w;
  w.hosts = hosts;
  if (faults == fault_profile::none) return w;
  w.gentle = faults == fault_profile::light || draws.one_in(2);
  draw_faults_of_network(draws, w);
  draw_faults_of_hosts(draws, w);
  return w;
}

testing::sim_clock draw_gossip_clock(gossip_draws& draws, const gossip_weather& w, std::uint32_t host) {
  testing::sim_clock c;
  if (w.skewed) c.drift_ppm = std::int64_t{draws.below(20'001)} - 10'000;
  if (w.too_fast(host)) c.drift_ppm = 500'000;
  return c;
}

}  // namespace scoll::sim
