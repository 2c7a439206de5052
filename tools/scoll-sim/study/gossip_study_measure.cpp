#include "tools/scoll-sim/study/gossip_study_measure.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "gossip/liveness/merge.hpp"

namespace scoll::sim {
namespace {

using namespace gossip;

constexpr std::size_t blocks = 40;
constexpr std::size_t cycles_between_looks = 4;  // at the clocks

double cycles_per_year(const study_case& c) {
  return 365.25 * 24 * 3600 / std::chrono::duration<double>(c.interval).count();
}

}  // namespace

study_measure::study_measure(study_cluster& cluster)
    : cluster_(cluster), case_(cluster.described()), columns_(cluster.columns()), blocks_(blocks) {}

void study_measure::run(study_result& result) {
  cluster_.tell(this);
  const std::uint64_t before = cluster_.highest_clock();
  cluster_.run_until(cluster_.now() + std::int64_t{case_.cycles} * study_interval);
  result.clock_rate = static_cast<double>(cluster_.highest_clock() - before) / case_.cycles;
  cluster_.tell(nullptr);
  conclude_ages(result);
  conclude_fits(result);
  conclude_messages(result);
  conclude_clocks(result);
}

// ---- what is seen

void study_measure::on_tick(std::uint32_t host, std::span<const std::uint8_t> ages, bool waited) {
  waits_ += waited;
  enter_block(ticks_++ * blocks / expected_ticks());
  histogram& counts = count_ages(ages);
  if (host < columns_) --counts[ages[host]];
  set_odd_apart(counts, host, ages);
  if (ticks_ % (std::size_t{case_.nodes} * cycles_between_looks) == 0) look_at_clocks();
}

std::size_t study_measure::expected_ticks() const {
  const double faster = case_.fast_node ? 2 : 1.02;  // no node ticks more often
  return static_cast<std::size_t>(case_.cycles * faster * cluster_.living()) + blocks;
}

void study_measure::enter_block(std::size_t which) {
  if (which == block_) return;
  for (histogram& h : counts_) {
    for (std::size_t a = 0; a < h.size(); ++a) blocks_[block_][a] += h[a];
    h.fill(0);
  }
  block_ = which;
}

/// Equal ages often follow each other, and one histogram would make each update wait for the one before. So
/// every fourth column shares a histogram.
study_measure::histogram& study_measure::count_ages(std::span<const std::uint8_t> ages) {
  std::size_t j = 0;
  for (; j + counts_.size() <= ages.size(); j += counts_.size()) {
    for (std::size_t k = 0; k < counts_.size(); ++k) ++counts_[k][ages[j + k]];
  }
  for (; j < ages.size(); ++j) ++counts_[0][ages[j]];
  return counts_[0];
}

/// Moves the ages at the fast node, and those of the lossy node, to a histogram of their own.
void study_measure::set_odd_apart(histogram& counts, std::uint32_t host, std::span<const std::uint8_t> ages) {
  if (case_.fast_node && host == 0) {
    for (std::uint32_t j = 0; j < columns_; ++j) {
      --counts[ages[j]];
      odd_[ages[j]] += j != host;
    }
    ++counts[ages[host]];
  }
  if (case_.lossy_node != 0 && host != 0) {
    ++odd_[ages[0]];
    --counts[ages[0]];
  }
}

void study_measure::look_at_clocks() {
  const std::uint64_t highest = cluster_.highest_clock();
  spreads_.push_back(static_cast<double>(highest - std::min(cluster_.lowest_clock(), highest)));
}

void study_measure::on_arrival(std::uint64_t own, std::uint64_t heard) {
  const std::uint64_t late = own > heard ? own - heard : 0;
  ++lateness_[std::min<std::uint64_t>(late, lateness_.size() - 1)];
}

void study_measure::on_answer(std::span<const std::uint8_t> ages) {
  entries_ += ages.size() - static_cast<std::uint64_t>(std::count(ages.begin(), ages.end(), never_heard));
  ++replies_;
}

// ---- what follows from it

void study_measure::conclude_ages(study_result& result) {
  enter_block(blocks);
  result.blocks = std::move(blocks_);
  std::uint64_t above = 0, all = 0, of_dead = 0;
  for (std::uint32_t j = 0; j < columns_; ++j) of_dead += !cluster_.alive(j);
  for (histogram& b : result.blocks) {
    // Ages of dead nodes carry no information here.
    if (of_dead != 0) b[old_age] = 0;
    for (std::size_t a = 0; a < b.size(); ++a) {
      result.ages[a] += b[a];
      if (b[a] == 0) continue;
      all += b[a];
      above += a > result.threshold ? b[a] : 0;
      result.highest_age = std::max(result.highest_age, static_cast<std::uint32_t>(a));
    }
  }
  result.pair_cycles = static_cast<double>(all);
  result.false_share = static_cast<double>(above) / static_cast<double>(all);
}

void study_measure::conclude_fits(study_result& result) const {
  const double live = cluster_.living();
  const double per_year = cycles_per_year(case_);
  result.fit = fit_tail(result.blocks, result.threshold, live * (live - 1) * per_year);
  if (case_.lossy_node != 0 || case_.fast_node)
    result.odd_fit = fit_tail({odd_}, result.threshold, (live - 1) * per_year);
}

void study_measure::conclude_messages(study_result& result) const {
  result.lateness = lateness_;
  result.pings_per_cycle = static_cast<double>(pings_) / std::max(1.0, static_cast<double>(ticks_));
  result.entries_per_reply =
      static_cast<double>(entries_) / std::max(1.0, static_cast<double>(replies_) * columns_);
}

void study_measure::conclude_clocks(study_result& result) {
  result.clock_waits = waits_;
  std::sort(spreads_.begin(), spreads_.end());
  if (spreads_.empty()) return;
  result.clock_spread_p50 = spreads_[spreads_.size() / 2];
  result.clock_spread_max = spreads_.back();
}

}  // namespace scoll::sim
