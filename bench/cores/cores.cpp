#include "cores.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "bench/kit/group_contestant.hpp"
#include "bench/kit/rated.hpp"
#include "bench/kit/statistics.hpp"

namespace bench::cores {
namespace {

std::unique_ptr<group_contestant> start(const setting& s) {
  return std::make_unique<group_contestant>("scoll", s.processes, [s](member& me) { play(me, s); });
}

/// The part of all messages that the busiest of the reactors has sent, of the process that sends the most.
double busiest(const group_contestant& group, const setting& s) {
  double most = 0;
  for (std::uint32_t i = 0; i < s.processes; ++i) {
    double all = 0;
    double largest = 0;
    for (const reactor_page& each : group.page(i).reactors) {
      const auto sent = static_cast<double>(each.messages);
      all += sent;
      largest = std::max(largest, sent);
    }
    most = std::max(most, all > 0 ? largest / all : 0);
  }
  return most;
}

rows measure(const std::string& job, const bench::options& common, const options& o) {
  const bool broadcasts = job == "bcast";
  std::vector<setting> settings;
  std::vector<std::unique_ptr<group_contestant>> groups;
  std::vector<rated*> rates;
  std::vector<subject> subjects;
  const contest_options how = common.contest(broadcasts ? 4'000 : 40'000, "cores, " + job);
  for (const std::uint32_t cores : o.cores) {
    settings.push_back({broadcasts ? o.nodes : 2, cores, o.size, broadcasts, common.congestion_control});
    groups.push_back(start(settings.back()));
    order many;
    many.in_flight = o.in_flight * cores;
    auto made = std::make_unique<rated>(*groups.back(), many, how.operations);
    rates.push_back(made.get());
    subjects.push_back({"scoll", std::move(made)});
  }
  const auto scores = hold(subjects, how);
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r;
    r["bench"] = "cores-" + job;
    r["subject"] = "scoll";
    r["cores"] = o.cores[i];
    r["nodes"] = settings[i].processes;
    r["size"] = o.size;
    r["in_flight"] = o.in_flight;  // of each reactor
    add_score(r, scores[i]);
    r["ops_per_s"] = rounded(median(rates[i]->per_s()));
    r["syscalls_per_op"] = rounded(scores[i].total.syscalls);
    r["allocs_per_op"] = scores[i].total.allocations;
    r["busiest_reactor"] = rounded(busiest(*groups[i], settings[i]));
    if (i > 0) {
      const interval gain = ratio_of_medians(rates[i]->per_s(), rates[0]->per_s());
      r["against"] = fmt::format("{} core{}", o.cores[0], o.cores[0] == 1 ? "" : "s");
      r["rate_ratio"] = rounded(gain.value);
      r["rate_ratio_low"] = rounded(gain.low);
      r["rate_ratio_high"] = rounded(gain.high);
    }
    found.push_back(std::move(r));
  }
  return found;
}

const std::vector<column>& columns() {
  static const std::vector<column> all{{"bench", "bench", 0, 12},
                                       {"cores", "cores", 0, 6},
                                       {"nodes", "servers", 0, 7},
                                       {"in_flight", "each at once", 0, 12},
                                       {"ops_per_s", "per second", 0},
                                       {"rate_ratio", "times", 2, 6},
                                       {"rate_ratio_low", "low", 2, 6},
                                       {"rate_ratio_high", "high", 2, 6},
                                       {"busiest_reactor", "busiest", 2, 8},
                                       {"p50_us", "p50 us"},
                                       {"p99_us", "p99 us"},
                                       {"cpu_us_per_op", "CPU us/op"},
                                       {"syscalls_per_op", "syscalls", 2, 8},
                                       {"allocs_per_op", "allocs", 2, 7}};
  return all;
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  if (const long there = sysconf(_SC_NPROCESSORS_ONLN); std::ranges::max(o.cores) > there)
    fmt::print("# with {} processors, the reactors share them\n", there);
  rows all;
  for (const std::string& job : o.jobs) {
    const rows found = measure(job, common, o);
    all.insert(all.end(), found.begin(), found.end());
  }
  show_progress("");
  print_table(fmt::format("servers with a reactor and a node per core, requests of {} bytes", o.size),
              columns(), all);
  return all;
}

}  // namespace bench::cores
