#include "tools/scoll-sim/study/gossip_study_plan.hpp"

#include <algorithm>
#include <string>

#include "gossip/threshold.hpp"

namespace scoll::sim {
namespace {

using gossip::age_rule;
using gossip::clock_rule;

// Pairs examined for a row: as many as a laptop handles in seconds; more for the default rules, and many more
// for the case that is the goal.
constexpr double pairs_of_a_row = 2e8;
constexpr double pairs_of_a_size = 1e9;
constexpr double pairs_of_the_goal = 1e10;
constexpr std::uint32_t least_cycles = 60;
constexpr std::uint32_t most_cycles = 400'000;
constexpr std::uint32_t all_columns_up_to = 1024;

constexpr double losses[] = {0, 0.01, 0.05, 0.2};
constexpr double usual_loss = 0.05;

std::uint32_t columns_of(std::uint32_t nodes) {
  return nodes <= all_columns_up_to ? nodes : std::max<std::uint32_t>(128, (1U << 21) / nodes);
}

study_case base(std::uint32_t nodes, double loss, double pairs = pairs_of_a_row) {
  study_case c;
  c.nodes = nodes;
  c.loss = loss;
  c.columns = columns_of(nodes);
  const double of_a_cycle = static_cast<double>(nodes) * c.columns;
  c.cycles = static_cast<std::uint32_t>(std::clamp<double>(pairs / of_a_cycle, least_cycles, most_cycles));
  c.kills = nodes <= 4096 ? 256 : nodes <= 16384 ? 32 : 16;
  return c;
}

/// The source's own protocol: only its ages, clock and threshold.
study_case as_source(study_case c) {
  c.rule = "source";
  c.ages = age_rule::relative_ages;
  c.clock = clock_rule::lamport;
  c.threshold = gossip::logarithm_threshold(c.nodes);
  c.retries = 0;
  c.reprobe_one_in = 0;
  return c;
}

/// The source's ages with all other features of this library.
study_case with_relative_ages(study_case c) {
  c.rule = "relative";
  c.ages = age_rule::relative_ages;
  c.clock = clock_rule::lamport;
  return c;
}

study_case with_retries(study_case c, std::uint32_t retries, const char* rule) {
  c.rule = rule;
  c.retries = retries;
  return c;
}

study_case with_fudge(study_case c, std::uint32_t fudge, const char* rule) {
  c.rule = rule;
  c.fudge = fudge;
  return c;
}

study_case with_plain_clock(study_case c) {
  c.rule = "guarded plain clock";
  c.clock = clock_rule::lamport;
  return c;
}

study_case together(study_case c) {
  c.scenario = "together";
  c.jitter = false;
  return c;
}

study_case dead_not_skipped(study_case c) {
  c.rule = "guarded dead not skipped";
  c.reprobe_one_in = 0;
  return c;
}

study_case in(const char* scenario, study_case c) {
  c.scenario = scenario;
  return c;
}

void add_sizes(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {16U, 64U, 256U, 1024U, 4096U, 16384U, 65536U}) {
    for (const double loss : losses) {
      const bool goal = nodes == 1024 && loss == usual_loss;
      all.push_back(base(nodes, loss, goal ? pairs_of_the_goal : pairs_of_a_size));
    }
  }
}

/// Adds the rules. Large sizes get only the usual loss.
void add_rules(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {16U, 64U, 256U, 1024U, 4096U, 16384U, 65536U}) {
    for (const double loss : losses) {
      if (nodes > all_columns_up_to && loss != usual_loss) continue;
      const study_case c = base(nodes, loss);
      all.push_back(as_source(c));
      all.push_back(with_relative_ages(c));
      all.push_back(with_retries(c, 0, "guarded no retry"));
    }
  }
}

void add_variants(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {16U, 64U, 256U, 1024U}) {
    const study_case c = base(nodes, usual_loss);
    all.push_back(together(as_source(c)));
    all.push_back(together(c));
    all.push_back(with_retries(c, 1, "guarded one retry"));
    all.push_back(with_retries(c, 3, "guarded three retries"));
    all.push_back(with_fudge(c, 2, "guarded fudge 2"));
    all.push_back(with_fudge(c, 4, "guarded fudge 4"));
    all.push_back(with_plain_clock(c));
  }
}

void add_disturbed(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {64U, 256U, 1024U}) {
    study_case half_dead = in("half dead", base(nodes, usual_loss));
    half_dead.dead = 0.5;
    all.push_back(half_dead);
    all.push_back(dead_not_skipped(half_dead));
    study_case lossy = in("one loses half", base(nodes, usual_loss));
    lossy.lossy_node = 0.5;
    all.push_back(lossy);
    study_case equal = in("equal clocks", base(nodes, usual_loss));
    equal.skew = 0;
    all.push_back(equal);
    study_case fast = in("one 2x fast", base(nodes, usual_loss));
    fast.fast_node = true;
    all.push_back(fast);
    all.push_back(with_plain_clock(fast));
    for (const int intervals : {5, 10}) {
      study_case stalls = in(intervals == 5 ? "stalls of 5" : "stalls of 10", base(nodes, usual_loss));
      stalls.stall = intervals;
      all.push_back(stalls);
    }
  }
}

}  // namespace

std::vector<study_case> gossip_study_of_one_size(std::uint32_t nodes, double loss, double pairs) {
  const study_case few = base(nodes, loss, pairs / 4);
  return {base(nodes, loss, pairs), with_relative_ages(few), as_source(few)};
}

std::vector<study_case> whole_gossip_study() {
  std::vector<study_case> all;
  add_sizes(all);
  add_rules(all);
  add_variants(all);
  add_disturbed(all);
  return all;
}

/// Counts messages, each of which costs as much as some hundred columns, and columns, before, during and
/// after the measurement.
double cost_of(const study_case& c) {
  constexpr double of_a_message = 500, settling = 80, of_a_death = 5;
  return c.nodes * (c.cycles + settling + of_a_death * c.kills) * (c.columns + of_a_message);
}

}  // namespace scoll::sim
