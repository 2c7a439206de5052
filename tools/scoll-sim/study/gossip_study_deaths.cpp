#include "tools/scoll-sim/study/gossip_study_deaths.hpp"

#include <algorithm>
#include <cmath>

namespace scoll::sim {

void study_deaths::run(study_result& result) {
  cluster_.tell(this);
  const std::uint32_t at_once = std::clamp<std::uint32_t>(case_.nodes / 64, 1, 8);
  while (noticed_.size() + result.undetected < case_.kills) {
    kill(at_once);
    wait_for_verdicts();
    count_verdicts(result);
    revive();
  }
  cluster_.tell(nullptr);
  conclude(result);
}

void study_deaths::on_tick(std::uint32_t host, std::span<const std::uint8_t> ages, bool) {
  for (death& d : present_) {
    if (ages[d.host] <= cluster_.threshold() || d.host == host || d.noticed_by[host]) continue;
    d.noticed_by[host] = true;
    const double after = static_cast<double>(cluster_.now() - d.at) / study_interval;
    if (d.noticed++ == 0) d.until.first = after;
    d.until.last = after;
  }
}

bool study_deaths::may_die(std::uint32_t host) const {
  const bool odd = host == 0 && (case_.fast_node || case_.lossy_node != 0);
  return cluster_.alive(host) && !odd;
}

void study_deaths::kill(std::uint32_t count) {
  while (present_.size() < count) {
    const auto whom = static_cast<std::uint32_t>(cluster_.draw(cluster_.columns()));
    if (!may_die(whom)) continue;
    cluster_.kill(whom);
    death& d = present_.emplace_back();
    d.host = whom;
    d.at = cluster_.now();
    d.noticed_by.resize(case_.nodes);
    const std::int64_t pause = cluster_.draw(study_interval / 4);
    cluster_.run_until(cluster_.now() + pause);
  }
  cluster_.probe_the_dead(true);
}

/// Runs until every node has noticed, or for so long that the death counts as unnoticed.
void study_deaths::wait_for_verdicts() {
  const std::int64_t patience = std::int64_t{2 * cluster_.threshold() + 12} * study_interval;
  const std::int64_t latest = cluster_.now() + patience;
  const auto noticed = [&](const death& d) { return noticed_by_all(d); };
  while (cluster_.now() < latest && !std::all_of(present_.begin(), present_.end(), noticed))
    cluster_.run_until(cluster_.now() + study_interval);
}

void study_deaths::count_verdicts(study_result& result) {
  for (const death& d : present_) {
    if (noticed_by_all(d)) {
      noticed_.push_back(d.until);
    } else {
      ++result.undetected;
    }
  }
}

void study_deaths::revive() {
  for (const death& d : present_) cluster_.revive(d.host);
  present_.clear();
  cluster_.run_until(cluster_.now() + 20 * study_interval);
  cluster_.probe_the_dead(case_.dead != 0);
}

void study_deaths::conclude(study_result& result) const {
  if (noticed_.empty()) return;
  const auto count = static_cast<double>(noticed_.size());
  std::vector<double> spreads;
  for (const delays& d : noticed_) {
    result.detect_first += d.first / count;
    result.detect_last_mean += d.last / count;
    result.detect_last_max = std::max(result.detect_last_max, d.last);
    spreads.push_back(d.last - d.first);
  }
  std::sort(spreads.begin(), spreads.end());
  const auto place = static_cast<std::size_t>(std::ceil(0.99 * count));
  result.spread_p99 = spreads[std::max<std::size_t>(place, 1) - 1];
}

}  // namespace scoll::sim
