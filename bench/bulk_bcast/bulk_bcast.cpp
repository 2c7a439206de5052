#include "bulk_bcast.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <memory>
#include <stdexcept>

#include "bench/bcast/prediction.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/kit/peers.hpp"
#include "scoll/bulk/pieces.hpp"

namespace bench::bulk_bcast {
namespace {

constexpr std::array other_libraries{open_mpi};

/// Chooses the number of operations so that a round takes some hundreds of milliseconds.
std::uint32_t usual_operations(const job& j) {
  constexpr std::uint64_t bytes_of_round = 1U << 28U;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(bytes_of_round / (j.size * j.nodes), 2, 50));
}

/// A plan and a size of pieces as they were asked for, such as "auto" or "kary:2, pieces of 65536".
struct asked {
  std::string plan;
  std::uint32_t piece = 0;

  std::string text() const { return piece == 0 ? plan : fmt::format("{}, pieces of {}", plan, piece); }
  setting with(const job& j, const scoll::link_map& links) const {
    return {j, scoll::parse_bulk_plan(plan), piece, links};
  }
};

std::vector<asked> all_asked(const options& o) {
  std::vector<asked> all;
  for (const std::string& plan : o.plans) {
    if (plan != "auto" && !scoll::parse_bulk_plan(plan)) {
      throw std::invalid_argument("--plan: '" + plan +
                                  "' is neither a plan, such as whole or kary:2, nor auto");
    }
    for (const std::uint32_t piece : o.pieces) all.push_back({plan, piece});
  }
  return all;
}

void require_fitting(const options& o) {
  for (const std::uint64_t size : o.sizes) {
    for (const std::uint32_t piece : o.pieces) {
      if (piece != 0 && !scoll::bulk_pieces::divide(size, piece)) {
        throw std::invalid_argument(fmt::format(
            "--piece: {} B cannot travel in pieces of {} B: 0, or a power of two from 65536 to 1048576", size,
            piece));
      }
    }
  }
}

double median_us(const raw_setting& s, std::uint32_t operations) {
  group_contestant group("raw-tree", s.what.nodes, [s](member& me) { play_raw_tree(me, s); });
  std::vector<double> us;
  group.run(1, us);
  us.clear();
  group.run(operations, us);
  return median(std::move(us));
}

/// The most memory of any process beside the place of the bytes.
double extra_kib(const group_contestant& group, const job& j) {
  double most = 0;
  for (const pid_t pid : group.pids()) most = std::max(most, peak_own_kib(pid));
  return most - static_cast<double>(j.size) / 1024;
}

row begin_row(const score& s, const job& j) {
  row r;
  r["bench"] = "bulk-bcast";
  r["subject"] = s.subject;
  r["nodes"] = j.nodes;
  r["size"] = j.size;
  return r;
}

/// One plan of scoll beside the fastest raw tree and, on request, Open MPI.
class one_case {
 public:
  one_case(const asked& plan, const raw_setting& raw, const scoll::link_map& links, bool with_peers)
      : asked_(plan), raw_(raw) {
    const job& j = raw.what;
    const setting mine = plan.with(j, links);
    add("scoll", [mine](member& me) { play_scoll(me, mine); });
    for (const char* const name : {"raw-tree", "raw-tree (A/A)"})
      add(name, [raw](member& me) { play_raw_tree(me, raw); });
    if (!with_peers) return;
    for (const peer& p : other_libraries)
      subjects_.push_back({p.subject, bench::start(p, j.nodes, j.size, j.congestion_control)});
  }

  rows measure(const bench::options& common) {
    const job& j = raw_.what;
    contest_options how = common.contest(
        usual_operations(j), fmt::format("bulk-bcast {} nodes, {} B, {}", j.nodes, j.size, asked_.text()));
    how.warm_up = std::min(how.warm_up, how.operations);
    own_.front()->obey(first_broadcasts, {});
    const auto scores = hold(subjects_, how);
    const score& floor = scores[raw_at];
    rows found;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const score& s = scores[i];
      row r = begin_row(s, j);
      if (i == 0) describe_scoll(r);
      if (i == raw_at || i == twin_at) describe_raw(r);
      add_score(r, s);
      if (i < own_.size()) {
        r["syscalls_per_op"] = rounded(s.total.syscalls);
        r["extra_kib"] = extra_kib(*own_[i], j);
      }
      if (i == 0) {
        r["frames_per_op"] = rounded(s.total.messages);
        r["allocs_per_op"] = s.total.allocations;  // exact: the limit is zero
      }
      if (i != raw_at) add_ratios(r, s, floor);
      if (i > twin_at) {
        const interval ours = ratio_of_medians(scores[0].p50_of_round, s.p50_of_round);
        r["beside"] = asked_.text();
        r["scoll_p50_ratio"] = rounded(ours.value);
        r["scoll_p50_ratio_low"] = rounded(ours.low);
      }
      found.push_back(std::move(r));
    }
    return found;
  }

 private:
  /// Connections are made, and pools grow to what is needed.
  static constexpr std::uint32_t first_broadcasts = 6;
  static constexpr std::size_t raw_at = 1, twin_at = 2;  // other libraries are behind

  template <class Body>
  void add(const char* name, const Body& body) {
    auto made = std::make_unique<group_contestant>(name, raw_.what.nodes, body);
    own_.push_back(made.get());
    subjects_.push_back({name, std::move(made)});
  }

  void describe_scoll(row& r) const {
    const member_page& root = own_.front()->first();
    r["asked"] = asked_.text();
    r["plan"] = to_string(root.plan.load());
    r["chunk"] = root.piece_bytes.load();
    r["predicted_us"] = rounded(static_cast<double>(root.predicted_ns.load()) / 1e3);
  }
  void describe_raw(row& r) const {
    r["plan"] = to_string(raw_.tree);
    r["chunk"] = raw_.chunk;
  }

  asked asked_;
  raw_setting raw_;
  std::vector<subject> subjects_;
  std::vector<group_contestant*> own_;  // in the same order
};

void show(const rows& all) {
  static const std::vector<column> columns{
      {"subject", "subject", 0, 15},  {"nodes", "nodes", 0, 6},          {"size", "bytes", 0, 10},
      {"plan", "plan", 0, 10},        {"chunk", "chunk", 0, 8},          {"p50_us", "p50 us"},
      {"p99_us", "p99 us"},           {"cpu_us_per_op", "CPU us/op"},    {"p50_ratio", "p50 ratio", 3},
      {"p50_ratio_low", "low", 3, 6}, {"p50_ratio_high", "high", 3, 6},  {"cpu_ratio", "CPU ratio", 2},
      {"predicted_us", "predicted"},  {"frames_per_op", "frames", 1, 7}, {"allocs_per_op", "allocs", 2, 7},
      {"extra_kib", "extra KiB", 0}};
  print_table("bulk-bcast; ratios to raw-tree, the fastest of its shapes", columns, all);
}

}  // namespace

raw_setting fastest_raw_tree(const bench::options& common, const options& o, const job& j) {
  raw_setting best{j};
  double least_us = std::numeric_limits<double>::infinity();
  for (const scoll::tree_spec& tree : o.raw_trees) {
    for (const std::uint32_t chunk : o.raw_pieces) {
      const raw_setting s{j, tree, chunk};
      show_progress(fmt::format("raw tree {} of {} nodes, {} B, chunks of {} B", to_string(tree), j.nodes,
                                j.size, chunk));
      const double us = median_us(s, common.quick ? 2 : 3 * usual_operations(j));
      if (us >= least_us) continue;
      least_us = us;
      best = s;
    }
  }
  return best;
}

rows run(const bench::options& common, const options& o) {
  if (o.peers) require_peers(other_libraries, "bulk-bcast");
  const std::vector<asked> plans = all_asked(o);
  require_fitting(o);
  rows all;
  for (const std::uint32_t nodes : o.nodes) {
    show_progress(fmt::format("bulk-bcast: measuring the links between {} processes", nodes));
    const scoll::link_map links =
        bcast::measure_links({.nodes = nodes, .tree = {}, .congestion_control = common.congestion_control});
    for (const std::uint64_t size : o.sizes) {
      const raw_setting raw = fastest_raw_tree(common, o, {nodes, size, common.congestion_control});
      for (const asked& plan : plans) {
        const rows found = one_case(plan, raw, links, o.peers).measure(common);
        all.insert(all.end(), found.begin(), found.end());
      }
    }
  }
  show_progress("");
  show(all);
  return all;
}

}  // namespace bench::bulk_bcast
