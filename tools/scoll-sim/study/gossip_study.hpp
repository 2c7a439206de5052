#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gossip/options.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::sim {

/// One cluster to study. Phases and periods of its nodes, latencies and pauses are multiples of the interval;
/// only figures per year need the interval itself.
struct study_case {
  std::string scenario = "calm";
  std::string rule = "guarded";  ///< its name in the rows of the study
  std::uint32_t nodes = 1024;
  std::uint32_t columns = 0;  ///< participants whose ages are tracked, from the first; 0: up to 1024 of them
  double loss = 0.05;
  nanoseconds interval = std::chrono::milliseconds(200);
  gossip::age_rule ages = gossip::age_rule::guarded_stamps;
  gossip::clock_rule clock = gossip::clock_rule::guarded;
  std::uint32_t threshold = 0;  ///< 0: computed
  std::uint32_t fudge = 0;
  std::uint32_t retries = 2;
  std::uint32_t reprobe_one_in = 8;
  bool jitter = true;      ///< phases of their own, and pings at times of their own; else all tick together
  double skew = 0.01;      ///< of periods, either way
  double dead = 0;         ///< share of nodes that are dead from the start and known to be dead
  double lossy_node = 0;   ///< loss of every message to and from node 0, instead of `loss`
  bool fast_node = false;  ///< node 0 has half the period
  double stall = 0;        ///< intervals for which a node stands still now and then
  std::uint32_t cycles = 1000;  ///< measured cycles, after those needed to settle
  std::uint32_t kills = 64;     ///< deaths to be noticed after the measurement
  std::uint64_t seed = 1;
};

/// Ages above `threshold` according to the fitted tail, with a 95 % interval from a bootstrap over blocks.
struct tail_fit {
  double per_year = 0, low = 0, high = 0;  ///< for the whole cluster
  double decay = 0;                        ///< factor by which each further cycle divides it
  std::uint32_t begins_at = 0;             ///< the first age of the fit
};

struct study_result {
  std::uint32_t threshold = 0;
  double pair_cycles = 0;
  std::array<std::uint64_t, 256> ages{};  ///< how often each was seen
  std::vector<std::array<std::uint64_t, 256>> blocks;
  std::uint32_t highest_age = 0;
  tail_fit fit;
  tail_fit odd_fit;  ///< of verdicts about the lossy node, or by the fast one, which are left out elsewhere
  double false_share = 0;   ///< of pair-cycles, seen and not fitted
  double detect_first = 0;  ///< cycles from a death to the first verdict, mean
  double detect_last_mean = 0, detect_last_max = 0;
  double spread_p99 = 0;                              ///< of first to last
  std::uint32_t undetected = 0;                       ///< deaths that somebody did not notice
  double clock_rate = 0;                              ///< cycles per interval
  double clock_spread_p50 = 0, clock_spread_max = 0;  ///< highest less lowest clock of the living
  std::array<std::uint64_t, 64> lateness{};  ///< own clock less that of a message on arrival; below 0 is 0
  double pings_per_cycle = 0;
  double entries_per_reply = 0;  ///< share of the vector
  std::uint64_t clock_waits = 0;
  double seconds = 0;  ///< of processor time
};

study_result run_study(const study_case& what);

/// Fits `blocks` at a threshold; `chances` is the number of ages examined in a year.
tail_fit fit_tail(const std::vector<std::array<std::uint64_t, 256>>& blocks, std::uint32_t threshold,
                  double chances);

}  // namespace scoll::sim
