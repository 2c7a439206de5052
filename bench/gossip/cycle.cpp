#include <fmt/format.h>

#include <string>
#include <vector>

#include "gossip.hpp"

namespace bench::gossip {
namespace {

rows rows_of(const std::string& bench, std::uint32_t nodes, const exchange_sizes& sizes,
             const std::vector<score>& scores, std::size_t raw_at) {
  rows found;
  for (std::size_t i = 0; i != scores.size(); ++i) {
    row r;
    r["bench"] = bench;
    r["subject"] = scores[i].subject;
    r["nodes"] = nodes;
    r["ping_bytes"] = sizes.ping;
    r["reply_bytes"] = sizes.reply;
    add_score(r, scores[i]);
    r["allocs_per_op"] = scores[i].total.allocations;
    if (i != raw_at) add_ratios(r, scores[i], scores[raw_at]);
    found.push_back(std::move(r));
  }
  return found;
}

rows run_one(const bench::options& o, std::uint32_t nodes, const exchange_sizes& sizes) {
  constexpr std::size_t raw_at = 1;
  constexpr std::uint32_t usual_operations = 100;
  std::vector<subject> subjects;
  subjects.push_back({"scoll", make_one_participant(nodes)});
  subjects.push_back({"raw-udp", make_bare_participant(sizes, nodes)});
  subjects.push_back({"raw-udp (A/A)", make_bare_participant(sizes, nodes)});
  contest_options c = o.contest(usual_operations, fmt::format("gossip-one, {} nodes", nodes));
  c.warm_up = 40;  // until all know all
  return rows_of("gossip-one", nodes, sizes, hold(subjects, c), raw_at);
}

rows run_nodes(const bench::options& o, std::uint32_t nodes) {
  constexpr std::size_t raw_at = 1;
  constexpr std::uint32_t usual_operations = 2000;
  auto cycles = make_cycles(nodes);
  const exchange_sizes sizes = cycles->sizes();
  std::vector<subject> subjects;
  subjects.push_back({"scoll", std::move(cycles)});
  subjects.push_back({"raw-udp", make_raw_udp(sizes)});
  subjects.push_back({"raw-udp (A/A)", make_raw_udp(sizes)});
  contest_options c = o.contest(usual_operations, fmt::format("gossip-cycle, {} nodes", nodes));
  c.operations = (c.operations + nodes - 1) / nodes * nodes;  // whole rounds, for equally many turns
  c.warm_up = nodes;
  const auto scores = hold(subjects, c);
  rows found = rows_of("gossip-cycle", nodes, sizes, scores, raw_at);
  const rows of_one = run_one(o, nodes, sizes);
  found.insert(found.end(), of_one.begin(), of_one.end());
  return found;
}

}  // namespace

rows run_cycle(const bench::options& common, const std::vector<std::uint32_t>& nodes) {
  static const std::vector<column> columns{
      {"bench", "bench", 0, 13},      {"subject", "subject", 0, 14},     {"nodes", "nodes", 0, 6},
      {"ping_bytes", "ping B", 0, 7}, {"reply_bytes", "reply B", 0, 8},  {"cpu_us_per_op", "CPU us/op", 2},
      {"p50_us", "p50 us", 2},        {"allocs_per_op", "allocs", 3, 7}, {"cpu_ratio", "CPU ratio", 2},
      {"cpu_ratio_low", "low", 2, 6}, {"cpu_ratio_high", "high", 2, 6}};
  rows all;
  for (const std::uint32_t n : nodes) {
    const rows found = run_nodes(common, n);
    all.insert(all.end(), found.begin(), found.end());
  }
  show_progress("");
  print_table(
      "a ping and its reply (cycle), and both of them both ways (one); ratios to the same datagrams alone",
      columns, all);
  return all;
}

}  // namespace bench::gossip
