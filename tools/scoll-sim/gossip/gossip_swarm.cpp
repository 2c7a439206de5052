#include "tools/scoll-sim/gossip/gossip_swarm.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <utility>
#include <vector>

#include "tools/scoll-sim/gossip/gossip_environment.hpp"
#include "tools/scoll-sim/gossip/gossip_faults.hpp"
#include "tools/scoll-sim/gossip/gossip_forger.hpp"
#include "tools/scoll-sim/gossip/gossip_life.hpp"
#include "tools/scoll-sim/gossip/gossip_lives.hpp"
#include "tools/scoll-sim/gossip/gossip_properties.hpp"
#include "tools/scoll-sim/gossip/gossip_timing.hpp"

namespace scoll::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr nanoseconds step = milliseconds(50);
constexpr nanoseconds calm = seconds(8);
constexpr nanoseconds without_a_switch = std::chrono::minutes(5);
constexpr std::size_t followed = 3;             // participants whose clock all others move to
constexpr double longest_stall_in_gossip = 16;  // cycles
constexpr double following_pace = 12;           // cycles in which a cycle is caught up with, clocks 1 % off
constexpr double slowest = 1.02;                // for clocks up to 1 % slow that tick up to 1 % late

/// One run: a calm, the faults, a calm and a last death.
class swarm {
 public:
  swarm(const plan& p, testing::sim_world::observer observer)
      : environment_(p, observer),
        lives_(environment_),
        faults_(environment_, lives_),
        forger_(environment_, lives_),
        properties_(environment_, lives_, faults_) {
    lives_.report_to(properties_);
  }

  run_report run() {
    faults_.start_all();
    run_until(gossip_faults_begin);
    if (environment_.nothing_found()) properties_.check_everybody("everybody is alive after a cold start");
    faults_.begin();
    run_until(gossip_faults_end);
    if (environment_.nothing_found()) settle();
    return conclude();
  }

 private:
  void run_until(nanoseconds until) {
    while (environment_.now() < until && environment_.nothing_found()) {
      faults_.carry_out();
      environment_.world.run_until(faults_.next(std::min(until, environment_.now() + step)));
      faults_.stall();
      forger_.forge();
      properties_.check_states();
    }
  }

  void settle() {
    faults_.heal();
    const nanoseconds bound = gossip_cycles(cycles_to_settle() * slowest);
    run_until(environment_.now() + bound);
    if (environment_.nothing_found()) properties_.check_everybody("every living pair is alive again in time");
    properties_.settle();
    run_until(environment_.now() + calm);
    if (environment_.nothing_found() && environment_.rails > 1) lose_switch();
    if (environment_.nothing_found()) last_death();
  }

  /// One rail of all hosts is dead for long. No verdict may come of it, and each cycle is answered.
  void lose_switch() {
    const std::uint32_t rail = environment_.rail_draws.below(environment_.rails);
    pull(rail, gossip_forever);
    properties_.begin_dead_switch();
    const nanoseconds until = environment_.now() + without_a_switch;
    while (environment_.now() < until && environment_.nothing_found()) {
      environment_.world.run_until(std::min(until, environment_.now() + seconds(1)));
      properties_.check_states();
    }
    properties_.check_dead_switch();
    if (environment_.nothing_found()) properties_.check_everybody("everybody is alive without a switch");
    pull(rail, nanoseconds(0));
  }

  void pull(std::uint32_t rail, nanoseconds until) {
    for (std::uint32_t host = 0; host < environment_.hosts; ++host) environment_.pull(host, rail, until);
  }

  /// Thresholds that rose because of loss come down one step at a time.
  double cycles_to_settle() const {
    return properties_.highest_threshold() + (environment_.threshold + gossip_stealth_beyond) +
           2 * std::bit_width(environment_.hosts - 1) + cycles_to_catch_up();
  }

  /// Returns the cycles that clocks need to come together. After a partition, all participants of one side
  /// may have restarted and lost the time. Participants that kept the time are then followed at once only if
  /// they are enough; otherwise the clocks catch up a tenth faster than they run.
  double cycles_to_catch_up() const {
    const std::vector<std::uint64_t> clocks = clocks_from_highest();
    if (!environment_.weather.partitions || clocks.size() < 2) return 0;
    const auto behind = static_cast<double>(clocks.front() - clocks[std::min(followed, clocks.size() - 1)]);
    return behind > longest_stall_in_gossip ? behind * following_pace : 0;
  }

  std::vector<std::uint64_t> clocks_from_highest() const {
    std::vector<std::uint64_t> clocks;
    for (const gossip_life* l : lives_.present()) {
      if (l != nullptr && !environment_.weather.odd(l->host) && l->active())
        clocks.push_back(l->member.clock());
    }
    std::sort(clocks.begin(), clocks.end(), std::greater<>());
    return clocks;
  }

  void last_death() {
    if (environment_.hosts < 3) return;  // of two, neither knows which is at fault
    const std::uint32_t whom = 1 + environment_.draws.below(environment_.hosts - 2);
    if (environment_.rails > 1 && environment_.rail_draws.one_in(2)) {
      faults_.cut_off(whom);
    } else {
      lives_.crash(whom);
    }
    const double bound = (highest_present_threshold() + 4) * (environment_.weather.skewed ? slowest : 1);
    run_until(environment_.now() + gossip_cycles(bound));
    properties_.check_death(whom);
  }

  std::uint32_t highest_present_threshold() const {
    std::uint32_t highest = 0;
    for (const gossip_life* l : lives_.present()) {
      if (l != nullptr) highest = std::max(highest, l->member.threshold());
    }
    return highest;
  }

  run_report conclude() {
    run_report& report = environment_.report;
    for (const gossip_life& l : lives_.all()) report.bytes += l.member.counts().bytes_sent;
    report.trace_hash = environment_.world.trace_hash();
    report.events = environment_.world.events();
    report.lives = lives_.all().size();
    properties_.check_livelock();
    return std::move(report);
  }

  gossip_environment environment_;
  gossip_lives lives_;
  gossip_faults faults_;
  gossip_forger forger_;
  gossip_properties properties_;
};

}  // namespace

run_report run_gossip(const plan& p, testing::sim_world::observer observer) {
  return swarm(p, observer).run();
}

}  // namespace scoll::sim
