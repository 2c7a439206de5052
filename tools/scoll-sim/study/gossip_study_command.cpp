#include "tools/scoll-sim/study/gossip_study_command.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <future>
#include <mutex>
#include <stdexcept>
#include <vector>

#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/study/gossip_study.hpp"
#include "tools/scoll-sim/study/gossip_study_files.hpp"
#include "tools/scoll-sim/study/gossip_study_plan.hpp"
#include "tools/scoll-sim/study/gossip_study_rows.hpp"

namespace scoll::sim {
namespace {

/// Runs the cases of a plan, a few at a time. The results of a case do not depend on the cases beside it.
class study_run {
 public:
  study_run(const std::vector<study_case>& plan, gossip_study_files& files, bool quiet)
      : plan_(plan), files_(files), quiet_(quiet), rows_(plan.size()) {
    for (std::size_t i = 0; i < plan_.size(); ++i) {
      const study_row* const kept = files_.found(plan_[i]);
      kept != nullptr ? take_over(i, *kept) : due_.push_back(i);
    }
    // The longest cases run first, so that none of them is left alone at the end.
    std::sort(due_.begin(), due_.end(), [&](std::size_t a, std::size_t b) {
      const auto first = cost_of(plan_[a]), second = cost_of(plan_[b]);
      return first != second ? first > second : a < b;
    });
  }

  const std::vector<study_row>& go(std::uint32_t jobs) {
    std::vector<std::future<void>> workers;
    workers.reserve(jobs);
    for (std::uint32_t i = 0; i < jobs; ++i)
      workers.push_back(std::async(std::launch::async, [this] { work(); }));
    for (auto& w : workers) w.get();
    return rows_;
  }

 private:
  void work() {
    for (;;) {
      std::size_t i = 0;
      {
        const std::lock_guard lock(mutex_);
        if (next_ == due_.size()) return;
        i = due_[next_++];
      }
      const study_row row = row_of(plan_[i], run_study(plan_[i]));
      const std::lock_guard lock(mutex_);
      files_.add(row);
      take_over(i, row);
    }
  }

  void take_over(std::size_t i, const study_row& row) {
    rows_[i] = row;
    ++done_;
    if (quiet_) return;
    std::fputs(fmt::format("{:>3}/{:<3} {}", done_, plan_.size(), study_table_line(row.csv)).c_str(), stdout);
    std::fflush(stdout);
  }

  const std::vector<study_case>& plan_;
  gossip_study_files& files_;
  const bool quiet_;
  std::vector<study_row> rows_;  // in the order of the plan
  std::mutex mutex_;
  std::vector<std::size_t> due_;
  std::size_t next_ = 0;
  std::size_t done_ = 0;
};

std::vector<study_case> planned(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed) {
  const double pairs = a.pairs != 0 ? a.pairs : pairs_of_one_size;
  std::vector<study_case> plan =
      a.all ? whole_gossip_study() : gossip_study_of_one_size(nodes, a.loss, pairs);
  for (study_case& c : plan) {
    c.seed = seed;
    c.interval = std::chrono::milliseconds(a.interval_ms);
  }
  return plan;
}

void write_json(const std::vector<study_row>& rows, const std::string& name) {
  std::ofstream out(name);
  for (std::size_t i = 0; i < rows.size(); ++i) out << (i == 0 ? "[\n" : ",\n") << json_of(rows[i].csv);
  out << "\n]\n";
  if (!out.flush()) throw std::runtime_error("cannot write " + name);
}

}  // namespace

void add_gossip_study_options(CLI::App& app, gossip_study_arguments& a) {
  const std::string group = "Gossip";
  app.add_flag("--gossip-study", a.asked,
               "ages, verdicts and clocks of --nodes participants, 2 to 65536, under each rule; --json FILE "
               "for the rows, --jobs for the cores")
      ->group(group);
  app.add_flag("--all", a.all, "with --gossip-study: everything of docs/gossip.md")->group(group);
  app.add_flag("--list", a.list, "with --gossip-study: only say what the rows would be")->group(group);
  app.add_option("--loss", a.loss, "of messages")
      ->capture_default_str()
      ->check(CLI::Range(0.0, 0.9))
      ->group(group);
  app.add_option("--interval-ms", a.interval_ms, "of the gossip")
      ->capture_default_str()
      ->check(CLI::Range(std::int64_t{200}, std::int64_t{600'000}))
      ->group(group);
  app.add_option("--pairs", a.pairs,
                 "pairs of participants looked at, times cycles, for the first rule; without --all")
      ->check(CLI::Range(1e4, 1e12))
      ->group(group);
  app.add_option("--study-csv", a.csv,
                 "write all figures to this file, and the ages to it with -ages before its ending")
      ->group(group);
  app.add_flag(
         "--resume", a.resume,
         "with --study-csv: rows that the file has are not made anew; delete it after changing the code")
      ->group(group);
}

int run_gossip_studies(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed,
                       std::uint32_t jobs, const std::string& json, bool quiet) {
  const std::vector<study_case> plan = planned(a, nodes, seed);
  if (a.list) {
    for (const study_case& c : plan) std::puts(key_of(c).c_str());
    return 0;
  }
  gossip_study_files files(a.csv, plan, a.resume);
  if (!quiet) std::fputs(("        " + study_table_heading()).c_str(), stdout);
  study_run study(plan, files, quiet);
  const std::vector<study_row>& rows = study.go(jobs);
  files.put_in_order(rows);
  if (!json.empty()) write_json(rows, json);
  return 0;
}

}  // namespace scoll::sim
