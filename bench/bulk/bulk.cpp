#include "bulk.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/kit/group_contestant.hpp"

namespace bench::bulk {
namespace {

/// Chooses the number of operations so that a round takes some tens of milliseconds.
std::uint32_t usual_operations(std::uint64_t size) {
  constexpr std::uint64_t bytes_of_round = 1U << 26U;
  constexpr std::uint64_t most = 500;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_of_round / size, 1, most));
}

rows run_setting(const bench::options& o, setting s) {
  constexpr std::size_t raw_at = 2;
  const std::string op = s.push ? "push" : "pull";
  setting verified = s;
  verified.verified = true;
  std::vector<subject> subjects;
  subjects.push_back(group_subject("scoll", 2, &play_scoll, s));
  subjects.push_back(group_subject("scoll (hashed)", 2, &play_scoll, verified));
  subjects.push_back(group_subject("raw-stream", 2, &play_raw, s));
  subjects.push_back(group_subject("raw-stream (A/A)", 2, &play_raw, s));
  contest_options how = o.contest(usual_operations(s.size), fmt::format("bulk {}, {} B", op, s.size));
  how.warm_up = std::min(how.warm_up, how.operations);
  const auto scores = hold(subjects, how);
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r;
    r["bench"] = "bulk";
    r["subject"] = scores[i].subject;
    r["op"] = op;
    r["size"] = s.size;
    if (i < raw_at) {
      r["chunk"] = s.chunk;
      r["depth"] = s.depth;
    }
    r["gib_per_s"] = static_cast<double>(s.size) / (1U << 30U) / (scores[i].p50() * 1e-6);
    add_score(r, scores[i]);
    if (i < raw_at) {
      r["syscalls_per_op"] = scores[i].total.syscalls;
      r["allocs_per_op"] = scores[i].total.allocations;
    }
    if (i != raw_at) add_ratios(r, scores[i], scores[raw_at]);
    found.push_back(std::move(r));
  }
  return found;
}

void show(const std::string& op, const rows& of) {
  static const std::vector<column> columns{
      {"subject", "subject", 0, 17}, {"size", "bytes", 0, 10},       {"chunk", "chunk", 0, 8},
      {"depth", "depth", 0, 6},      {"gib_per_s", "GiB/s", 2, 7},   {"p50_us", "p50 us"},
      {"p99_us", "p99 us"},          {"cpu_us_per_op", "CPU us/op"}, {"allocs_per_op", "allocs", 1, 7},
      {"p50_ratio", "p50 ratio", 3}, {"p50_ratio_low", "low", 3, 6}, {"p50_ratio_high", "high", 3, 6},
      {"cpu_ratio", "CPU ratio", 2}};
  print_table(fmt::format("bulk {}; ratios to raw-stream; chunk and depth 0: scoll's own", op), columns, of);
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  rows all;
  for (const std::string& op : o.operations) {
    rows of_op;
    for (const std::uint64_t size : o.sizes) {
      for (const std::uint32_t chunk : o.chunks) {
        for (const std::uint32_t depth : o.depths) {
          const rows found =
              run_setting(common, {size, op == "push", chunk, depth, false, common.congestion_control});
          of_op.insert(of_op.end(), found.begin(), found.end());
        }
      }
    }
    show_progress("");
    show(op, of_op);
    all.insert(all.end(), of_op.begin(), of_op.end());
  }
  return all;
}

}  // namespace bench::bulk
