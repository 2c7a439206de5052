#include "tools/scoll-sim/gossip/gossip_faults.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanoseconds starting = seconds(1);
constexpr nanoseconds between_faults = seconds(3);
constexpr nanoseconds between_stalls = seconds(3);  // of one host

}  // namespace

gossip_faults::gossip_faults(gossip_environment& e, gossip_lives& lives)
    : environment_(e),
      lives_(lives),
      isolated_until_(e.hosts, nanoseconds(0)),
      busy_until_(e.hosts, nanoseconds(0)) {}

void gossip_faults::start_all() {
  for (std::uint32_t i = 0; i < environment_.hosts; ++i)
    occasions_.push_back({environment_.draws.below(starting), i, true});
}

// ---- drawing

void gossip_faults::begin() {
  disturb_network();
  if (environment_.faults == fault_profile::none) return;
  const gossip_weather& w = environment_.weather;
  gossip_draws& draws = environment_.draws;
  const nanoseconds longest = (gossip_faults_end - gossip_faults_begin) / 10;
  for (nanoseconds at = gossip_faults_begin; at < gossip_faults_end; at += between_faults) {
    if (w.crashes && draws.one_in(2)) draw_crash(at);
    if (w.stalls && draws.one_in(2)) stalls_.push_back(at + draws.below(longest));
  }
  if (w.isolation) isolate(1 + draws.below(environment_.hosts - 1));
  if (w.partitions) partition();
  if (environment_.rails > 1) pull_cables();
}

/// One switch fails, or one rail of some hosts. No host loses all rails by that.
void gossip_faults::pull_cables() {
  gossip_draws& draws = environment_.rail_draws;
  const std::uint32_t rail = draws.below(environment_.rails);
  const bool whole_switch = draws.one_in(2);
  const nanoseconds until = environment_.now() + seconds(5) + draws.below(seconds(20));
  for (std::uint32_t host = 0; host < environment_.hosts; ++host) {
    if (whole_switch || draws.one_in(4)) environment_.pull(host, rail, until);
  }
  ++environment_.report.faults;
}

void gossip_faults::disturb_network() {
  const gossip_weather& w = environment_.weather;
  testing::sim_path& way = environment_.network.common_path();
  way.loss_ppm = w.loss_ppm;
  way.duplicate_ppm = w.duplicate_ppm;
  way.reorder_ppm = w.reorder_ppm;
  way.corrupt_ppm = w.corrupt_ppm;
  way.spike_ppm = w.late_ppm;
  way.spike = milliseconds(500) + environment_.draws.below(milliseconds(12'000));
}

/// A host whose earlier crash is not yet over, or may not yet be noticed, is left alone.
void gossip_faults::draw_crash(nanoseconds at) {
  const std::uint32_t host = environment_.draws.below(environment_.hosts);
  const nanoseconds down = draw_downtime();
  if (busy_until_[host] > at || environment_.weather.odd(host)) return;
  busy_until_[host] = at + down + gossip_cycles(2.5 * environment_.threshold);
  occasions_.push_back({at, host, false});
  occasions_.push_back({at + down, host, true});
}

nanoseconds gossip_faults::draw_downtime() {
  gossip_draws& draws = environment_.draws;
  const bool quick = environment_.weather.quick && draws.one_in(2);
  if (quick) return draws.below(nanoseconds(150'000'000));
  return seconds(6) + draws.below(seconds(5));
}

// ---- carrying out

void gossip_faults::carry_out() {
  std::sort(occasions_.begin(), occasions_.end(), [](const occasion& a, const occasion& b) {
    return a.at != b.at ? a.at < b.at : a.host < b.host;
  });
  while (!occasions_.empty() && occasions_.front().at <= environment_.now()) {
    const occasion o = occasions_.front();
    occasions_.erase(occasions_.begin());
    o.boot ? lives_.boot(o.host) : lives_.crash(o.host);
  }
}

nanoseconds gossip_faults::next(nanoseconds latest) const {
  for (const occasion& o : occasions_)
    latest = std::min(latest, std::max(o.at, environment_.now() + nanoseconds(1)));
  return latest;
}

void gossip_faults::stall() {
  const auto due = [&](nanoseconds at) { return at <= environment_.now(); };
  for (std::size_t left = std::erase_if(stalls_, due); left != 0; --left) stall_somebody();
}

void gossip_faults::stall_somebody() {
  const nanoseconds now = environment_.now();
  const std::uint32_t host = environment_.draws.below(environment_.hosts);
  gossip_life* const l = lives_.present()[host];
  if (l == nullptr || environment_.weather.odd(host) || l->stalled_until + between_stalls > now) return;
  const milliseconds longest(environment_.weather.gentle ? 900 : 3000);
  l->stalled_until = now + milliseconds(100) + environment_.draws.below(longest);
  l->home.stall_until(l->stalled_until);
  ++environment_.report.faults;
}

void gossip_faults::isolate(std::uint32_t host) {
  const nanoseconds until = environment_.now() + seconds(5) + environment_.draws.below(seconds(10));
  for (std::uint32_t i = 0; i < environment_.hosts; ++i) {
    if (i != host) block(i, host, until);
  }
  isolated_until_[host] = until;
  ++environment_.report.faults;
}

void gossip_faults::partition() {
  const nanoseconds until = environment_.now() + seconds(5) + environment_.draws.below(seconds(15));
  const std::uint64_t sides = environment_.draws.bits();
  const auto side = [&](std::uint32_t host) { return sides >> (host % 64) & 1; };
  for (std::uint32_t i = 0; i < environment_.hosts; ++i) {
    for (std::uint32_t j = 0; j < i; ++j) {
      if (side(i) != side(j)) block(i, j, until);
    }
  }
  ++environment_.report.faults;
}

void gossip_faults::block(std::uint32_t a, std::uint32_t b, nanoseconds until) {
  testing::sim_network& network = environment_.network;
  for (std::uint32_t rail = 0; rail < environment_.rails; ++rail) {
    const std::uint32_t x = environment_.address(a, rail), y = environment_.address(b, rail);
    for (testing::sim_path* way : {&network.path(x, y), &network.path(y, x)})
      way->blocked_until = std::max(way->blocked_until, until);
  }
}

// ---- healing

void gossip_faults::heal() {
  occasions_.clear();
  stalls_.clear();
  for (std::uint32_t i = 0; i < environment_.hosts; ++i) lives_.boot(i);
  heal_network();
}

void gossip_faults::heal_network() {
  testing::sim_network& network = environment_.network;
  network.heal();
  testing::sim_path& way = network.common_path();
  const auto model = way.model;
  way = {};
  way.model = model;
  for (std::uint32_t rail = 0; rail < environment_.rails; ++rail) {
    for (std::uint32_t i = 0; i < environment_.hosts; ++i) {
      environment_.pull(i, rail, nanoseconds(0));
      for (std::uint32_t j = 0; j < environment_.hosts; ++j) {
        if (i != j) network.path(environment_.address(i, rail), environment_.address(j, rail)) = way;
      }
    }
  }
}

void gossip_faults::cut_off(std::uint32_t host) {
  for (std::uint32_t rail = 0; rail < environment_.rails; ++rail)
    environment_.pull(host, rail, gossip_forever);
  isolated_until_[host] = gossip_forever;
  ++environment_.report.faults;
}

}  // namespace scoll::sim
