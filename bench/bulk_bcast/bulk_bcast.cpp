#include "bulk_bcast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "bench/kit/group_contestant.hpp"

namespace bench::bulk_bcast {
namespace {

/// Chooses the number of operations so that a round takes some hundreds of milliseconds.
std::uint32_t usual_operations(std::uint32_t nodes, std::uint64_t size) {
  constexpr std::uint64_t bytes_of_round = 1U << 28U;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_of_round / (size * nodes), 2, 50));
}

double median_us(const setting& s, std::uint32_t operations) {
  group_contestant group("raw-tree", s.nodes, [s](member& me) { play_raw_tree(me, s); });
  std::vector<double> us;
  group.run(1, us);
  us.clear();
  group.run(operations, us);
  return median(std::move(us));
}

rows run_case(const bench::options& common, const options& o, std::uint32_t nodes, std::uint64_t size) {
  const setting best = fastest_raw_tree(common, o, nodes, size);
  std::vector<subject> subjects;
  subjects.push_back(group_subject("raw-tree", nodes, &play_raw_tree, best));
  subjects.push_back(group_subject("raw-tree (A/A)", nodes, &play_raw_tree, best));
  contest_options how =
      common.contest(usual_operations(nodes, size), fmt::format("bulk-bcast {} nodes, {} B", nodes, size));
  how.warm_up = std::min(how.warm_up, how.operations);
  const auto scores = hold(subjects, how);
  rows found;
  for (const score& s : scores) {
    row r;
    r["bench"] = "bulk-bcast";
    r["subject"] = s.subject;
    r["nodes"] = nodes;
    r["size"] = size;
    r["plan"] = to_string(best.plan);
    r["chunk"] = best.chunk;
    add_score(r, s);
    r["syscalls_per_op"] = rounded(s.total.syscalls);
    if (&s != &scores.front()) add_ratios(r, s, scores.front());
    found.push_back(std::move(r));
  }
  return found;
}

void show(const rows& all) {
  static const std::vector<column> columns{
      {"subject", "subject", 0, 15}, {"nodes", "nodes", 0, 6},       {"size", "bytes", 0, 10},
      {"plan", "plan", 0, 8},        {"chunk", "chunk", 0, 8},       {"p50_us", "p50 us"},
      {"p99_us", "p99 us"},          {"cpu_us_per_op", "CPU us/op"}, {"syscalls_per_op", "syscalls", 0, 9},
      {"p50_ratio", "p50 ratio", 3}, {"p50_ratio_low", "low", 3, 6}, {"p50_ratio_high", "high", 3, 6},
      {"cpu_ratio", "CPU ratio", 2}};
  print_table("bulk-bcast; ratios to raw-tree, the fastest of its shapes", columns, all);
}

}  // namespace

setting fastest_raw_tree(const bench::options& common, const options& o, std::uint32_t nodes,
                         std::uint64_t size) {
  setting best;
  double least_us = std::numeric_limits<double>::infinity();
  for (const scoll::tree_spec& plan : o.plans) {
    for (const std::uint32_t chunk : o.chunks) {
      const setting s{nodes, size, plan, chunk, common.congestion_control};
      show_progress(
          fmt::format("raw tree {} of {} nodes, {} B, chunks of {} B", to_string(plan), nodes, size, chunk));
      const double us = median_us(s, common.quick ? 2 : 3 * usual_operations(nodes, size));
      if (us >= least_us) continue;
      least_us = us;
      best = s;
    }
  }
  return best;
}

rows run(const bench::options& common, const options& o) {
  rows all;
  for (const std::uint32_t nodes : o.nodes) {
    for (const std::uint64_t size : o.sizes) {
      const rows found = run_case(common, o, nodes, size);
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  show_progress("");
  show(all);
  return all;
}

}  // namespace bench::bulk_bcast
