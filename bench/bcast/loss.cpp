#include "loss.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "bench/kit/group_contestant.hpp"
#include "bench/kit/statistics.hpp"

namespace bench::bcast {
namespace {

using series = std::array<std::vector<double>, loss_figures>;

const std::vector<double>& of(const series& all, loss_figure which) {
  return all[static_cast<std::size_t>(which)];
}

row row_of(const setting& s, const char* subject, const std::vector<double>& us) {
  row r;
  r["bench"] = "bcast-loss";
  r["subject"] = subject;
  r["nodes"] = s.nodes;
  r["size"] = s.size;
  r["tree"] = to_string(s.tree);
  r["p50_us"] = rounded(quantile(us, 0.50));
  r["p99_us"] = rounded(quantile(us, 0.99));
  r["max_us"] = rounded(quantile(us, 1.00));
  r["kills"] = us.size();
  return r;
}

void compare(row& to, const std::vector<double>& a, const char* against, const std::vector<double>& b) {
  const interval ratio = ratio_of_medians(a, b);
  to["against"] = against;
  to["p50_ratio"] = rounded(ratio.value);
  to["p50_ratio_low"] = rounded(ratio.low);
  to["p50_ratio_high"] = rounded(ratio.high);
}

}  // namespace

rows measure_loss(const bench::options& common, const setting& s, std::uint32_t kills) {
  if (common.quick) kills = std::min(kills, 3U);
  group_contestant group("scoll", s.nodes + spare_processes(2 * kills),
                         [s](member& me) { play_loss(me, s); });
  series found;
  for (std::uint32_t round = 0; round < kills; ++round) {
    show_progress(fmt::format("bcast-loss, {} nodes: round {} of {}", s.nodes, round + 1, kills));
    const auto noted = group.obey(1, {}).latency_ns;
    for (std::size_t i = 0; i < noted.size(); ++i) found[i % loss_figures].push_back(noted[i] / 1e3);
  }
  show_progress("");
  const std::vector<double>& clean = of(found, loss_figure::clean);
  row repaired = row_of(s, "repair", of(found, loss_figure::repair));
  compare(repaired, of(found, loss_figure::repair), "aborted and broadcast anew",
          of(found, loss_figure::anew));
  repaired["in_all_p50_us"] = rounded(median(of(found, loss_figure::repair_in_all)));
  row anew = row_of(s, "anew", of(found, loss_figure::anew));
  compare(anew, of(found, loss_figure::anew), "nobody dies", clean);
  anew["in_all_p50_us"] = rounded(median(of(found, loss_figure::anew_in_all)));
  return {repaired, anew, row_of(s, "nobody dies", clean)};
}

}  // namespace bench::bcast
