#include "tools/scoll-sim/summary.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "scoll/coro/error_format.hpp"

namespace scoll::sim {

void print_summary(const run_report& sum, std::uint64_t seeds, double seconds, double cpu_seconds) {
  const auto per_seed = [&](std::uint64_t n) { return static_cast<double>(n) / static_cast<double>(seeds); };
  std::fputs(
      fmt::format("seeds       {:>12}   {:.1f} s, {:.0f} seeds per minute\n"
                  "events      {:>12}   {:.0f} per second and core\n"
                  "broadcasts  {:>12}   {:.1f} per seed, {} clean\n"
                  "faults      {:>12}   {:.1f} per seed\n"
                  "groups      {:>12}   lives {}\n"
                  "members     merged {}, executed {}, failed {}, not reached {}, unknown {}\n",
                  seeds, seconds, static_cast<double>(seeds) * 60 / std::max(seconds, 1e-3), sum.events,
                  static_cast<double>(sum.events) / std::max(cpu_seconds, 1e-3), sum.broadcasts,
                  per_seed(sum.broadcasts), sum.clean, sum.faults, per_seed(sum.faults), sum.groups,
                  sum.lives, sum.members[0], sum.members[1], sum.members[2], sum.members[3], sum.members[4])
          .c_str(),
      stdout);
}

void print_json(const batch_report& b, double seconds) {
  const run_report& sum = b.sum;
  nlohmann::ordered_json j;
  j["seeds"] = b.seeds;
  j["seconds"] = seconds;
  j["cpu_seconds"] = b.cpu_seconds;
  j["events"] = sum.events;
  j["broadcasts"] = sum.broadcasts;
  j["clean"] = sum.clean;
  j["faults"] = sum.faults;
  j["groups"] = sum.groups;
  j["lives"] = sum.lives;
  constexpr const char* states[] = {"merged", "executed", "failed", "not_reached", "unknown"};
  for (std::size_t s = 0; s < sum.members.size(); ++s) j[states[s]] = sum.members[s];
  j["failed_seed"] = b.failed ? nlohmann::ordered_json(b.failed_seed) : nlohmann::ordered_json();
  for (std::size_t m = 0; m < marks; ++m) {
    const auto which = static_cast<mark>(m);
    j["seen"][std::string(to_string(which))] = sum.seen.runs_with(which);
  }
  std::printf("%s\n", j.dump().c_str());
}

void log_batch(const std::string& file, std::string_view commit, const batch_options& ran,
               const batch_report& b) {
  std::ofstream out(file, std::ios::app);
  out << fmt::format("{},{},{},{},{},{},{}\n", commit, to_string(ran.plan.work), ran.plan.hosts,
                     to_string(ran.plan.faults), ran.first, ran.last,
                     b.failed ? std::to_string(b.failed_seed) : "none");
  if (!out.flush()) throw std::runtime_error("cannot write " + file);
}

void print_coverage(const coverage& seen, std::uint64_t runs) {
  std::fputs(fmt::format("{:<24} {:>10}\n", "seen to happen", fmt::format("of {}", runs)).c_str(), stdout);
  for (std::size_t m = 0; m < marks; ++m) {
    const auto which = static_cast<mark>(m);
    std::fputs(fmt::format("{:<24} {:>10}\n", to_string(which), seen.runs_with(which)).c_str(), stdout);
  }
}

/// Prints the violations; true if there are none.
bool print_findings(const run_report& r, const std::string& reproduce, std::string_view commit) {
  if (r.found.empty()) return true;
  std::fputs(r.last_events.c_str(), stdout);
  constexpr std::size_t shown = 8;
  for (std::size_t i = 0; i < r.found.size() && i < shown; ++i)
    std::fputs(fmt::format("violated: {}\n  {}\n", r.found[i].property, r.found[i].what).c_str(), stdout);
  if (r.found.size() > shown) std::printf("and %zu more\n", r.found.size() - shown);
  std::fputs(fmt::format("reproduce: {}\ncommit: {}\n", reproduce, commit).c_str(), stdout);
  return false;
}

}  // namespace scoll::sim
