#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <exception>
#include <nlohmann/json.hpp>

#include "tests/cluster/kills/kill_series.hpp"
#include "tools/common/command_line.hpp"

/// Kills servers of a real cluster under broadcasts that are repaired, and tells what the kills came to.
namespace {

using scoll::test::kill_report;
using scoll::test::kill_series;

enum exit_code { all_true = 0, faults = 1 };

struct arguments {
  std::uint32_t kills = 1000;
  std::uint64_t seed = 1;
  bool json = false;
};

double seconds_since(std::chrono::steady_clock::time_point began) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
}

/// A line that is written over on a terminal, and seldom written elsewhere.
void show_progress(const kill_report& r, std::uint32_t of, double seconds) {
  const bool on_terminal = isatty(STDERR_FILENO) != 0;
  if (!on_terminal && r.kills % 50 != 0) return;
  fmt::print(stderr, "{}{:5.0f} s: {} of {} kills, {} broadcasts, {} faults{}", on_terminal ? "\r" : "",
             seconds, r.kills, of, r.broadcasts, r.faults.size(), on_terminal && r.kills != of ? "" : "\n");
}

void print_json(const kill_report& r, double seconds) {
  const nlohmann::ordered_json all{{"servers", kill_series::servers},
                                   {"seed", r.seed},
                                   {"kills", r.kills},
                                   {"seconds", static_cast<std::int64_t>(seconds)},
                                   {"broadcasts", r.broadcasts},
                                   {"losses", r.losses},
                                   {"unknown", r.unknown},
                                   {"not_reached", r.not_reached},
                                   {"refused", r.refused},
                                   {"executed", r.executed},
                                   {"asked_again", r.asked_again},
                                   {"rounds", r.rounds},
                                   {"comebacks", r.comebacks},
                                   {"too_late", r.too_late},
                                   {"late_groups", r.late_groups},
                                   {"longest_ms", r.longest_ns / 1'000'000},
                                   {"faults", r.faults}};
  fmt::print("{}\n", all.dump());
}

void print_line(const kill_report& r, double seconds) {
  fmt::print(
      "seed {}: {} kills of interior servers of {} in {:.0f} s, {} faults; {} broadcasts, {} of them without "
      "the "
      "killed server (unknown in {}, not reached in {}, its next life refused in {}; it had executed {}); "
      "the root "
      "asked again after {} kills, in {} rounds; the longest broadcast took {} ms\n",
      r.seed, r.kills, kill_series::servers, seconds, r.faults.size(), r.broadcasts, r.losses, r.unknown,
      r.not_reached, r.refused, r.executed, r.asked_again, r.rounds, r.longest_ns / 1'000'000);
}

int run(const arguments& args) {
  const auto began = std::chrono::steady_clock::now();
  kill_series series(args.seed);
  std::size_t told = 0;
  while (series.report().kills < args.kills) {
    series.kill_one();
    for (; told < series.report().faults.size(); ++told)
      fmt::print(stderr, "\nFAULT: {}\n", series.report().faults[told]);
    show_progress(series.report(), args.kills, seconds_since(began));
  }
  series.end();
  (args.json ? print_json : print_line)(series.report(), seconds_since(began));
  return series.report().faults.empty() ? all_true : faults;
}

}  // namespace

int main(int argc, char** argv) {
  arguments args;
  CLI::App app(
      "Kills interior servers of 16 real processes, each at a drawn moment of broadcasts that are repaired, "
      "and "
      "starts them anew. Every account is compared with what the processes have written down themselves. "
      "Ends with "
      "0 if all are true, and with 1 if not, or if the processes have not done as told.",
      "./dev soak repair");
  app.add_option("--kills", args.kills, "How many; 1000 by default, which take a quarter of an hour")
      ->check(CLI::Range(1, 1'000'000));
  app.add_option("--seed", args.seed, "Which servers, trees and moments; 1 by default");
  app.add_flag("--json", args.json, "Print the result as one JSON object");
  if (const auto ended = scoll::kit::read_command_line(app, argc, argv)) return *ended;
  try {
    return run(args);
  } catch (const std::exception& e) {
    fmt::print(stderr, "\nrepair_soak: seed {}: {}\n", args.seed, e.what());
    return faults;
  }
}
