#include "revoke.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "bench/kit/group_contestant.hpp"
#include "bench/kit/report.hpp"
#include "bench/kit/statistics.hpp"
#include "scoll/collective/binomial_graph.hpp"

namespace bench::revoke {
namespace {

/// The values of one figure: all of them, and the median of each round.
struct series {
  std::vector<double> all;
  std::vector<double> of_round;
};
using all_series = std::array<series, figures>;

const series& of(const all_series& all, figure which) {
  return all[static_cast<std::size_t>(which)];
}

double unit_of(std::size_t which) {
  return which == static_cast<std::size_t>(figure::notices) ? 1 : 1e3;
}

/// Every round has all rows: the kinds of operations follow each other within each repetition.
void add_round(all_series& to, std::span<const std::uint32_t> noted) {
  std::array<std::vector<double>, figures> round;
  for (std::size_t at = 0; at < noted.size(); ++at)
    round[at % figures].push_back(noted[at] / unit_of(at % figures));
  for (std::size_t i = 0; i < figures; ++i) {
    to[i].all.insert(to[i].all.end(), round[i].begin(), round[i].end());
    to[i].of_round.push_back(median(round[i]));
  }
}

void add_ratio(row& to, const series& a, const std::string& against, const series& b) {
  const interval ratio = ratio_of_medians(a.of_round, b.of_round);
  to["against"] = against;
  to["p50_ratio"] = rounded(ratio.value);
  to["p50_ratio_low"] = rounded(ratio.low);
  to["p50_ratio_high"] = rounded(ratio.high);
}

/// The figure with which each one is compared.
figure compared_with(figure which) {
  if (which == figure::last_notice) return figure::last_leaf;
  return figure::before_1;
}

/// Says by how much the interval of the third operation after the revoke lies above that of equal operations
/// before it: 0 if it does not, so that nothing is left of the revoke.
void compare_with_equals(rows& all) {
  const row& equals = all[static_cast<std::size_t>(figure::before_2)];
  row& third = all[static_cast<std::size_t>(figure::after_3)];
  const double above = third["p50_ratio_low"].get<double>() - equals["p50_ratio_high"].get<double>();
  third["above_aa"] = rounded(std::max(0.0, above));
}

rows rows_of(const std::string& bench, const setting& s, const all_series& found) {
  rows all;
  for (std::size_t i = 0; i < figures; ++i) {
    const auto which = static_cast<figure>(i);
    row r;
    r["bench"] = bench;
    r["subject"] = std::string("scoll ") + std::string(figure_names[i]);
    r["nodes"] = s.nodes;
    if (which == figure::notices) {
      r["notices_per_node"] = rounded(median(found[i].all) / s.nodes);
      r["degree"] = scoll::detail::binomial_degree(s.nodes);
    } else {
      r["p50_us"] = rounded(quantile(found[i].all, 0.50));
      r["p99_us"] = rounded(quantile(found[i].all, 0.99));
      r["max_us"] = rounded(quantile(found[i].all, 1.00));
      if (which != figure::last_leaf && which != figure::before_1 && which != figure::interrupted)
        add_ratio(r, found[i], std::string(figure_names[static_cast<std::size_t>(compared_with(which))]),
                  of(found, compared_with(which)));
    }
    r["operations"] = found[i].all.size();
    all.push_back(std::move(r));
  }
  compare_with_equals(all);
  return all;
}

void print(const std::string& title, const rows& found) {
  const std::vector<column> columns{{"subject", "subject", 1, 22},
                                    {"p50_us", "p50"},
                                    {"p99_us", "p99"},
                                    {"max_us", "max"},
                                    {"against", "against", 1, 12},
                                    {"p50_ratio", "ratio", 3},
                                    {"p50_ratio_low", "low", 3},
                                    {"p50_ratio_high", "high", 3},
                                    {"above_aa", "above A/A", 3},
                                    {"notices_per_node", "notices", 2}};
  print_table(title, columns, found);
}

rows run_case(const bench::options& common, const setting& s) {
  group_contestant group("scoll", s.nodes, [s](member& me) { play(me, s); });
  const contest_options chosen =
      common.contest(s.nodes > 32 ? 10 : 20, fmt::format("revoke, {} nodes", s.nodes));
  all_series idle, loaded;
  static_cast<void>(group.obey(2, {}));  // connections
  for (std::uint32_t round = 0; round < chosen.rounds; ++round) {
    if (chosen.progress) chosen.progress(fmt::format("round {} of {}", round + 1, chosen.rounds));
    order below;
    below.background = 1;
    for (int turn = 0; turn < 2; ++turn) {
      const bool quiet = (round + static_cast<std::uint32_t>(turn)) % 2 == 0;
      add_round(quiet ? idle : loaded, group.obey(chosen.operations, quiet ? order{} : below).latency_ns);
    }
  }
  show_progress("");
  rows all = rows_of("revoke", s, idle);
  rows under = rows_of("revoke-under-replies", s, loaded);
  const auto last = static_cast<std::size_t>(figure::last_notice);
  const interval slower = ratio_of_medians(loaded[last].of_round, idle[last].of_round);
  under[last]["over_idle"] = rounded(slower.value);
  print(fmt::format("revoke, {} nodes, degree {}; us", s.nodes, scoll::detail::binomial_degree(s.nodes)),
        all);
  print(fmt::format("revoke, {} nodes, below replies of 24 KiB; last notice over idle {:.2f}", s.nodes,
                    slower.value),
        under);
  all.insert(all.end(), under.begin(), under.end());
  return all;
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  rows all;
  for (const std::uint32_t nodes : o.nodes) {
    const rows found = run_case(common, {nodes, common.congestion_control});
    all.insert(all.end(), found.begin(), found.end());
  }
  return all;
}

}  // namespace bench::revoke
