#include "rtt.hpp"

#include <fmt/format.h>

#include "bench/kit/backend.hpp"
#include "bench/kit/exchanges.hpp"
#include "bench/kit/group_contestant.hpp"

namespace bench::rtt {
namespace {

constexpr std::size_t scoll_at = 0;

/// The base of the ratios: the last of the raw subjects.
const char* floor_name() {
  return raw_rings_offered() ? "raw-uring" : "raw-epoll";
}

rows run_size(const options& o, std::uint32_t size) {
  constexpr std::uint32_t usual_operations = 2000;
  const setting s{size, o.congestion_control};
  std::vector<subject> subjects;
  subjects.push_back(group_subject("scoll", 2, &play_scoll, s));
  subjects.push_back(group_subject("raw-blocking", 2, &play_blocking, s));
  subjects.push_back(group_subject("raw-epoll", 2, &play_epoll, s));
  if (raw_rings_offered()) subjects.push_back(group_subject("raw-uring", 2, &play_uring, s));
  const std::size_t floor_at = subjects.size() - 1;
  subjects.push_back(group_subject(floor_name() + std::string(" (A/A)"), 2,
                                   raw_rings_offered() ? &play_uring : &play_epoll, s));
  const auto scores = hold(subjects, o.contest(usual_operations, fmt::format("rtt, {} B", size)));
  rows found;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    row r;
    r["bench"] = "rtt";
    r["subject"] = scores[i].subject;
    r["size"] = size;
    add_score(r, scores[i]);
    r["syscalls_per_op"] = rounded(scores[i].total.syscalls);
    if (i == scoll_at) {
      r["allocs_per_op"] = scores[i].total.allocations;  // exact: the limit is zero
      r["messages_per_op"] = rounded(scores[i].total.messages);
    }
    if (i != floor_at) add_ratios(r, scores[i], scores[floor_at]);
    found.push_back(std::move(r));
  }
  return found;
}

}  // namespace

void play_scoll(member& me, const setting& s) {
  play_exchanges(me, s.size, s.congestion_control, s.keys);
}

rows run(const options& o, const std::vector<std::uint32_t>& sizes) {
  static const std::vector<column> columns{{"subject", "subject", 0, 16},
                                           {"size", "bytes", 0, 7},
                                           {"p50_us", "p50 us"},
                                           {"p99_us", "p99 us"},
                                           {"max_us", "max us"},
                                           {"cpu_us_per_op", "CPU us/op"},
                                           {"syscalls_per_op", "syscalls", 2},
                                           {"wakeups_per_op", "wake-ups", 2},
                                           {"cpu_ratio", "CPU ratio", 2},
                                           {"cpu_ratio_low", "low", 2, 6},
                                           {"cpu_ratio_high", "high", 2, 6},
                                           {"p50_ratio", "p50 ratio", 2},
                                           {"p50_ratio_low", "low", 2, 6},
                                           {"p50_ratio_high", "high", 2, 6}};
  rows all;
  for (const std::uint32_t size : sizes) {
    const rows of_size = run_size(o, size);
    show_progress("");
    print_table(fmt::format("rtt, {} bytes there and back; ratios to {}", size, floor_name()), columns,
                of_size);
    all.insert(all.end(), of_size.begin(), of_size.end());
  }
  return all;
}

}  // namespace bench::rtt
