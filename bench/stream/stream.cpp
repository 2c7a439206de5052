#include "stream.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "bench/kit/group_contestant.hpp"

namespace bench::stream {
namespace {

/// One contest: the pulls, twice, and the streams over each tree.
class one_case {
 public:
  one_case(const options& o, const setting& of) : of_(of) {
    setting pulls = of;
    pulls.pulls = true;
    for (const char* const name : {"pulls", "pulls (A/A)"}) add(name, pulls);
    for (const std::string& tree : o.trees) {
      const auto parsed = scoll::parse_tree(tree);
      if (!parsed) throw std::invalid_argument("--tree: '" + tree + "' is no tree, such as knomial:4");
      setting streams = of;
      streams.tree = *parsed;
      add("scoll", streams);
    }
  }

  rows measure(const bench::options& common) {
    contest_options how = common.contest(2, fmt::format("stream {} nodes, {} B", of_.nodes, of_.size));
    how.warm_up = 1;
    const std::vector<std::vector<double>> idle = peaks();
    const auto scores = hold(subjects_, how);
    const std::vector<std::vector<double>> busy = peaks();
    rows found;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      row r;
      r["bench"] = "stream";
      r["subject"] = scores[i].subject;
      r["nodes"] = of_.nodes;
      r["size"] = of_.size;
      if (!settings_[i].pulls) r["tree"] = to_string(settings_[i].tree);
      add_score(r, scores[i]);
      r["mib_per_s"] =
          rounded(static_cast<double>(of_.size * (of_.nodes - 1)) / scores[i].p50() * 1e6 / (1U << 20U));
      double more = 0;
      for (std::size_t p = 0; p < idle[i].size(); ++p) more = std::max(more, busy[i][p] - idle[i][p]);
      r["extra_kib"] = more;
      if (i != 0) add_ratios(r, scores[i], scores[0]);
      found.push_back(std::move(r));
    }
    return found;
  }

 private:
  void add(const char* name, const setting& s) {
    auto made = std::make_unique<group_contestant>(name, s.nodes, [s](member& me) { play(me, s); });
    groups_.push_back(made.get());
    settings_.push_back(s);
    subjects_.push_back({name, std::move(made)});
  }
  /// The most memory that each process of each subject has had so far.
  std::vector<std::vector<double>> peaks() const {
    std::vector<std::vector<double>> all;
    for (const group_contestant* group : groups_) {
      auto& of = all.emplace_back();
      for (const pid_t pid : group->pids()) of.push_back(peak_own_kib(pid));
    }
    return all;
  }

  setting of_;
  std::vector<subject> subjects_;
  std::vector<group_contestant*> groups_;
  std::vector<setting> settings_;
};

void show(const rows& all) {
  static const std::vector<column> columns{
      {"subject", "subject", 0, 12},    {"tree", "tree", 0, 10},       {"nodes", "nodes", 0, 6},
      {"size", "bytes", 0, 10},         {"p50_us", "p50 us"},          {"mib_per_s", "MiB/s", 0},
      {"cpu_us_per_op", "CPU us/op"},   {"p50_ratio", "p50 ratio", 3}, {"p50_ratio_low", "low", 3, 6},
      {"p50_ratio_high", "high", 3, 6}, {"cpu_ratio", "CPU ratio", 2}, {"extra_kib", "extra KiB", 0}};
  print_table("stream; ratios to parallel pulls", columns, all);
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  rows all;
  for (const std::uint32_t nodes : o.nodes) {
    for (const std::uint64_t size : o.sizes) {
      setting s;
      s.nodes = nodes;
      s.size = common.quick ? std::min<std::uint64_t>(size, 1U << 20U) : size;
      s.congestion_control = common.congestion_control;
      const rows found = one_case(o, s).measure(common);
      all.insert(all.end(), found.begin(), found.end());
    }
  }
  show_progress("");
  show(all);
  return all;
}

}  // namespace bench::stream
