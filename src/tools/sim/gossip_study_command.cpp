#include "gossip_study_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "coro/error_format.hpp"
#include "gossip/liveness/threshold.hpp"
#include "gossip_study.hpp"

namespace scoll::sim {
namespace {

using gossip::age_rule;
using gossip::clock_rule;

// Pairs looked at in a run: what a laptop does in seconds, and for the sizes that are the goal more.
constexpr double pairs_of_a_row = 2e8;
constexpr double pairs_of_the_goal = 2.2e9;
constexpr std::uint32_t least_cycles = 60;
constexpr std::uint32_t most_cycles = 40'000;
constexpr std::uint32_t large = 4096;

std::uint32_t columns_of(std::uint32_t nodes) {
  return nodes <= 1024 ? nodes : std::max<std::uint32_t>(128, (1U << 21) / nodes);
}

study_case base(std::uint32_t nodes, double loss, double pairs = pairs_of_a_row) {
  study_case c;
  c.nodes = nodes;
  c.loss = loss;
  c.columns = columns_of(nodes);
  const double of_a_cycle = static_cast<double>(nodes) * c.columns;
  c.cycles = static_cast<std::uint32_t>(std::clamp<double>(pairs / of_a_cycle, least_cycles, most_cycles));
  c.kills = nodes > large ? 8 : 64;
  return c;
}

/// As the source has it: nothing but its own ages, clock and threshold.
study_case as_source(study_case c) {
  c.rule = "source";
  c.ages = age_rule::relative_ages;
  c.clock = clock_rule::lamport;
  c.threshold = gossip::logarithm_threshold(c.nodes);
  c.retries = 0;
  c.reprobe_one_in = 0;
  return c;
}

/// The source's ages with all the rest of ours.
study_case with_relative_ages(study_case c) {
  c.rule = "relative";
  c.ages = age_rule::relative_ages;
  c.clock = clock_rule::lamport;
  return c;
}

template <class Change>
study_case with(study_case c, std::string scenario, std::string rule, Change change) {
  c.scenario = std::move(scenario);
  c.rule = std::move(rule);
  change(c);
  return c;
}

std::vector<study_case> rules(std::uint32_t nodes, double loss, double pairs) {
  const study_case few = base(nodes, loss, pairs / 4);
  return {base(nodes, loss, pairs), with_relative_ages(few), as_source(few)};
}

void add_sizes(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {16U, 64U, 256U, 1024U, 4096U, 16384U, 65536U}) {
    for (const double loss : {0.0, 0.01, 0.05, 0.2}) {
      if (nodes == 1024 && loss == 0.05) {
        all.push_back(base(nodes, loss, pairs_of_the_goal));
      } else if (nodes <= 16384 || loss == 0.05) {
        all.push_back(base(nodes, loss));
      }
    }
  }
}

void add_rules(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {256U, 1024U}) {
    for (const double loss : {0.0, 0.05, 0.2}) {
      const study_case c = base(nodes, loss);
      all.push_back(as_source(c));
      all.push_back(with_relative_ages(c));
      all.push_back(with(c, "calm", "guarded no retry", [](auto& x) { x.retries = 0; }));
      if (loss != 0.05) continue;
      all.push_back(with(as_source(c), "together", "source", [](auto& x) { x.jitter = false; }));
      all.push_back(with(c, "together", "guarded", [](auto& x) { x.jitter = false; }));
      all.push_back(with(c, "calm", "guarded one retry", [](auto& x) { x.retries = 1; }));
      all.push_back(with(c, "calm", "guarded fudge 2", [](auto& x) { x.fudge = 2; }));
      all.push_back(with(c, "calm", "guarded fudge 4", [](auto& x) { x.fudge = 4; }));
      all.push_back(with(c, "calm", "guarded plain clock", [](auto& x) { x.clock = clock_rule::lamport; }));
    }
  }
}

void add_disturbed(std::vector<study_case>& all) {
  for (const std::uint32_t nodes : {256U, 1024U}) {
    const study_case c = base(nodes, 0.05);
    const auto add = [&](const char* scenario, const char* rule, auto change) {
      all.push_back(with(c, scenario, rule, change));
    };
    add("half dead", "guarded", [](auto& x) { x.dead = 0.5; });
    add("half dead", "guarded dead not skipped", [](auto& x) {
      x.dead = 0.5;
      x.reprobe_one_in = 0;
    });
    add("one loses half", "guarded", [](auto& x) { x.lossy_node = 0.5; });
    add("equal clocks", "guarded", [](auto& x) { x.skew = 0; });
    add("one 2x fast", "guarded", [](auto& x) { x.fast_node = true; });
    add("one 2x fast", "guarded plain clock", [](auto& x) {
      x.fast_node = true;
      x.clock = clock_rule::lamport;
    });
    add("stalls of 5", "guarded", [](auto& x) { x.stall = 5; });
    add("stalls of 10", "guarded", [](auto& x) { x.stall = 10; });
  }
}

// ---- as text

std::string heading() {
  return fmt::format(
      "{:<15} {:<26} {:>6} {:>5} {:>3} {:>9} {:>4} {:>9} {:>9} {:>9} {:>6} {:>6} {:>6} {:>6} {:>6}\n",
      "scenario", "rule", "nodes", "loss", "T", "pairs", "max", "false/yr", "low", "high", "first", "last",
      "spread", "clock", "pings");
}

std::string line(const study_case& c, const study_result& r) {
  return fmt::format(
      "{:<15} {:<26} {:>6} {:>5} {:>3} {:>9.2e} {:>4} {:>9.2e} {:>9.2e} {:>9.2e} {:>6.2f} {:>6.2f} {:>6.2f} "
      "{:>6.3f} {:>6.3f}\n",
      c.scenario, c.rule, c.nodes, c.loss, r.threshold, r.pair_cycles, r.highest_age, r.fit.per_year,
      r.fit.low, r.fit.high, r.detect_first, r.detect_last_max, r.spread_p99, r.clock_rate,
      r.pings_per_cycle);
}

std::string csv_heading() {
  return "scenario,rule,nodes,loss,interval_ms,threshold_cycles,pair_cycles,highest_age,share_above_"
         "threshold,"
         "false_verdicts_per_year,low,high,tail_decay,tail_from,odd_per_year,detect_first_cycles,"
         "detect_last_cycles_mean,detect_last_cycles_max,detect_spread_cycles_p99,undetected,clock_rate,"
         "clock_spread_p50,clock_spread_max,late_share_over_2,latest,pings_per_cycle,entries_per_reply,"
         "seconds\n";
}

std::string csv_line(const study_case& c, const study_result& r) {
  double late = 0, arrived = 0;
  std::size_t latest = 0;
  for (std::size_t i = 0; i < r.lateness.size(); ++i) {
    arrived += static_cast<double>(r.lateness[i]);
    if (i > 2) late += static_cast<double>(r.lateness[i]);
    if (r.lateness[i] != 0) latest = i;
  }
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(c.interval).count();
  return fmt::format(
      "{},{},{},{},{},{},{:.4g},{},{:.4g},{:.4g},{:.4g},{:.4g},{:.4g},{},{:.4g},{:.3f},{:.3f},{:.3f},{:."
      "3f},{},"
      "{:.4f},{},{},{:.3g},{},{:.4f},{:.4f},{:.1f}\n",
      c.scenario, c.rule, c.nodes, c.loss, ms, r.threshold, r.pair_cycles, r.highest_age, r.false_share,
      r.fit.per_year, r.fit.low, r.fit.high, r.fit.decay, r.fit.begins_at, r.odd_fit.per_year, r.detect_first,
      r.detect_last_mean, r.detect_last_max, r.spread_p99, r.undetected, r.clock_rate, r.clock_spread_p50,
      r.clock_spread_max, late / std::max(arrived, 1.0), latest, r.pings_per_cycle, r.entries_per_reply,
      r.seconds);
}

std::string ages_heading() {
  return "scenario,rule,nodes,loss,age,share_above\n";
}

std::string ages_lines(const study_case& c, const study_result& r) {
  std::string text;
  double above = r.pair_cycles;
  for (std::size_t age = 0; age <= r.highest_age; ++age) {
    above -= static_cast<double>(r.ages[age]);
    if (above < 1) break;
    text += fmt::format("{},{},{},{},{},{:.4g}\n", c.scenario, c.rule, c.nodes, c.loss, age,
                        above / r.pair_cycles);
  }
  return text;
}

std::string json_row(const study_case& c, const study_result& r) {
  return fmt::format(
      "{{\"nodes\":{},\"loss\":{},\"rule\":\"{}\",\"threshold_cycles\":{},\"detect_first_cycles\":{:.3f},"
      "\"detect_last_cycles_max\":{:.3f},\"detect_spread_cycles_p99\":{:.3f},\"false_verdicts_per_year\":{:."
      "6g}}}",
      c.nodes, c.loss, c.rule, r.threshold, r.detect_first, r.detect_last_max, r.spread_p99, r.fit.per_year);
}

std::ofstream opened(const std::string& name) {
  std::ofstream out(name);
  if (!out) throw std::runtime_error("cannot write " + name);
  return out;
}

}  // namespace

void add_gossip_study_options(CLI::App& app, gossip_study_arguments& a) {
  const std::string group = "Gossip";
  app.add_flag("--gossip-study", a.asked,
               "ages, verdicts and clocks of --nodes participants, 2 to 65536, under each rule; --json FILE "
               "for the rows")
      ->group(group);
  app.add_flag("--all", a.all,
               "with --gossip-study: everything of docs/gossip.md, for about a quarter of an hour")
      ->group(group);
  app.add_option("--loss", a.loss, "of messages")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9))
      ->group(group);
  app.add_option("--interval-ms", a.interval_ms, "of the gossip")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{200}, std::int64_t{600'000}))
      ->group(group);
  app.add_option("--study-csv", a.csv,
                 "write all figures to this file, and the ages to it with -ages before its ending")
      ->group(group);
}

int run_gossip_studies(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed,
                       const std::string& json, bool quiet) {
  std::vector<study_case> all;
  if (a.all) {
    add_rules(all);
    add_disturbed(all);
    add_sizes(all);
  } else {
    all = rules(nodes, a.loss, nodes <= 1024 ? pairs_of_the_goal / 2 : pairs_of_a_row);
  }
  std::ofstream csv, ages;
  if (!a.csv.empty()) {
    csv = opened(a.csv);
    const std::size_t ending = std::min(a.csv.rfind('.'), a.csv.size());
    ages = opened(a.csv.substr(0, ending) + "-ages" + a.csv.substr(ending));
    csv << csv_heading();
    ages << ages_heading();
  }
  if (!quiet) std::fputs(heading().c_str(), stdout);
  std::string rows;
  for (study_case& c : all) {
    c.seed = seed;
    c.interval = std::chrono::milliseconds(a.interval_ms);
    const study_result r = run_study(c);
    rows += (rows.empty() ? "[\n" : ",\n") + json_row(c, r);
    if (!quiet) std::fputs(line(c, r).c_str(), stdout);
    std::fflush(stdout);
    csv << csv_line(c, r) << std::flush;
    ages << ages_lines(c, r) << std::flush;
  }
  if (!json.empty()) opened(json) << rows << "\n]\n";
  return 0;
}

}  // namespace scoll::sim
