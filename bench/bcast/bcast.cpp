#include "bcast.hpp"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/kit/backend.hpp"
#include "bench/kit/group_contestant.hpp"
#include "bench/kit/peers.hpp"
#include "loss.hpp"
#include "prediction.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/choose.hpp"
#include "zones.hpp"

namespace bench::bcast {
namespace {

using player = void (*)(member&, const setting&);

constexpr std::array other_libraries{open_mpi, grpc};

std::unique_ptr<group_contestant> start(const std::string& name, player play, const setting& s) {
  return std::make_unique<group_contestant>(name, s.nodes, [play, s](member& me) { play(me, s); });
}

/// The better of the two raw trees, figure by figure; scoll is compared with it.
score best_of(const score& a, const score& b) {
  const score& fast = median(a.p50_of_round) <= median(b.p50_of_round) ? a : b;
  const score& cheap = median(a.cpu_of_round) <= median(b.cpu_of_round) ? a : b;
  score best = cheap;
  best.subject = "raw-tree";
  best.latency_us = fast.latency_us;
  best.p50_of_round = fast.p50_of_round;
  return best;
}

row begin_row(const char* bench, const std::string& subject, const setting& s) {
  row r;
  r["bench"] = bench;
  r["subject"] = subject;
  r["nodes"] = s.nodes;
  r["size"] = s.size;
  r["tree"] = to_string(s.tree);
  if (s.chosen) r["tree_choice"] = "auto";
  return r;
}

/// Measures when the last process was reached. This needs a run of its own, because looking at all processes
/// costs time.
double last_leaf_us(group_contestant& group, std::uint32_t operations) {
  order traced;
  traced.trace = 1;
  std::vector<double> us;
  for (const std::uint32_t ns : group.obey(operations, traced).last_reached_ns) us.push_back(ns / 1e3);
  return median(std::move(us));
}

void add_counts(row& to, const score& s, const setting& on) {
  const double edges = on.nodes - 1;
  to["syscalls_per_op"] = rounded(s.total.syscalls);
  to["syscalls_per_edge"] = rounded(s.total.syscalls / edges);
}

/// Adds the work of a process at each place in the tree: the mean over the processes at that place.
void add_places(row& to, const score& s, const setting& on) {
  const auto tree = any_tree_of(on);
  usage root, interior, leaf;
  double interiors = 0, leaves = 0;
  for (std::uint32_t i = 0; i < on.nodes; ++i) {
    const bool is_leaf = tree.fan_out(on.nodes, i) == 0;
    (i == 0 ? root : is_leaf ? leaf : interior) += s.per_process[i];
    interiors += i != 0 && !is_leaf;
    leaves += i != 0 && is_leaf;
  }
  const auto add = [&](const std::string& place, const usage& sum, double count) {
    if (count == 0) return;
    const usage each = sum.per(count);
    to["cpu_us_" + place] = rounded(each.cpu_us);
    to["syscalls_" + place] = rounded(each.syscalls);
    to["wakeups_" + place] = rounded(each.wakeups);
  };
  add("root", root, 1);
  add("interior", interior, interiors);
  add("leaf", leaf, leaves);
}

/// A group whose last process stands still while it is measured. Afterwards it catches up.
class with_one_stopped final : public contestant {
 public:
  with_one_stopped(group_contestant& group, order kind) : group_(group), kind_(kind) {}
  void run(std::uint32_t operations, std::vector<double>& latency_us) override {
    const pid_t last = group_.pids().back();
    kill(last, SIGSTOP);
    const answer measured = group_.obey(operations, kind_);
    kill(last, SIGCONT);
    for (const std::uint32_t ns : measured.latency_ns) latency_us.push_back(ns / 1e3);
    group_.obey(1, {});
  }
  std::vector<usage> used() const override { return group_.used(); }

 private:
  group_contestant& group_;
  order kind_;
};

/// Measures the broadcasts of one group beside the raw trees and, on request, beside other libraries.
class one_case {
 public:
  one_case(const bench::options& common, const setting& s, const scoll::link_map& links, bool with_peers)
      : common_(common), setting_(s), links_(links), scoll_(*add("scoll", &play_scoll)) {
    add("raw-tree-epoll", &play_raw_epoll);
    if (raw_rings_offered()) add("raw-tree-uring", &play_raw_uring);
    twin_ = subjects_.size();
    add("raw-tree-epoll (A/A)", &play_raw_epoll);
    add("scoll-plain", &play_plain);
    if (!with_peers) return;
    for (const peer& p : other_libraries)
      subjects_.push_back({p.subject, bench::start(p, s.nodes, s.size, s.congestion_control)});
  }

  rows alone() {
    const auto scores = hold(subjects_, contest("bcast"));
    const score floor = best_of(scores[epoll_at], scores[twin_ - 1]);
    rows found;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      row r = begin_row("bcast", scores[i].subject, setting_);
      add_score(r, scores[i]);
      if (i <= plain_at()) add_counts(r, scores[i], setting_);
      if (i == 0) {
        r["last_leaf_us"] = rounded(last_leaf_us(scoll_, contest("bcast").operations));
        r["predicted_us"] = rounded(predict_us(setting_, links_));
        r["messages_per_op"] = rounded(scores[i].total.messages);
      }
      if (i == 0 || i == plain_at())
        r["allocs_per_op"] = scores[i].total.allocations;  // exact, for the limits
      if (i <= plain_at()) add_places(r, scores[i], setting_);
      if (i == 0 || i > twin_) add_ratios(r, scores[i], floor);
      if (i == twin_) add_ratios(r, scores[i], scores[epoll_at]);
      found.push_back(std::move(r));
    }
    row best = begin_row("bcast", floor.subject, setting_);
    add_score(best, floor);
    add_counts(best, floor, setting_);
    found.insert(found.begin() + 1, std::move(best));
    return found;
  }

  /// Measures many concurrent broadcasts, all from the root: how many end per second.
  row at_once(std::uint32_t in_flight) {
    order many;
    many.in_flight = in_flight;
    return apart("bcast-many", many);
  }
  /// Measures while bulk data goes to all children of the root.
  row under_bulk() {
    order beside;
    beside.background = 1;
    return apart("bcast-under-bulk", beside);
  }
  /// Measures broadcasts with a trace.
  row traced() {
    order stamped;
    stamped.stamped = 1;
    return apart("bcast-traced", stamped);
  }
  /// Measures broadcasts that would be repaired after a loss.
  row repaired() {
    order kept;
    kept.repaired = 1;
    return apart("bcast-repaired", kept);
  }
  /// Measures broadcasts that end with a quorum, while one process stands still.
  row quorum(std::uint32_t size) {
    order few;
    few.quorum = size;
    row r = beside_itself("bcast-quorum", std::make_unique<with_one_stopped>(scoll_, few), few, few);
    r["quorum"] = size;
    r["against"] = "the same quorum, nobody stopped";
    return r;
  }

 private:
  static constexpr std::size_t epoll_at = 1;
  std::size_t plain_at() const noexcept { return twin_ + 1; }

  group_contestant* add(const char* name, player play) {
    auto made = start(name, play, setting_);
    group_contestant* const at = made.get();
    subjects_.push_back({name, std::move(made)});
    return at;
  }
  contest_options contest(const std::string& what) const {
    const std::uint32_t usual = std::clamp(6400 / setting_.nodes, 50U, 1000U);
    return common_.contest(usual, fmt::format("{}, {} nodes, {} B, {}", what, setting_.nodes, setting_.size,
                                              to_string(setting_.tree)));
  }

  row apart(const char* bench, order kind) {
    row r = beside_itself(bench, std::make_unique<under_other_orders>(scoll_, kind), kind, order{});
    r["against"] = "one at a time, nothing beside";
    return r;
  }

  row beside_itself(const char* bench, std::unique_ptr<contestant> loaded, const order& kind,
                    const order& usual) {
    std::vector<subject> both;
    both.push_back({"loaded", std::move(loaded)});
    both.push_back({"idle", std::make_unique<under_other_orders>(scoll_, usual)});
    contest_options how = contest(bench);
    how.warm_up = std::max(how.warm_up, 10 * kind.in_flight);  // pools grow to what is needed at once
    const auto scores = hold(both, how);
    row r = begin_row(bench, "scoll", setting_);
    r["in_flight"] = kind.in_flight;
    add_score(r, scores[0]);
    double busy_us = 0;
    for (const double us : scores[0].latency_us) busy_us += us;
    const double per_s = 1e6 * static_cast<double>(scores[0].latency_us.size()) * kind.in_flight / busy_us;
    r["operations_per_s"] = rounded(per_s);
    if (kind.background != 0)
      r["background_mib_per_s"] = rounded(scores[0].total.background_bytes * per_s / (1U << 20U));
    add_counts(r, scores[0], setting_);
    r["allocs_per_op"] = scores[0].total.allocations;
    add_ratios(r, scores[0], scores[1]);
    return r;
  }

  bench::options common_;
  setting setting_;
  const scoll::link_map& links_;
  std::vector<subject> subjects_;
  group_contestant& scoll_;
  std::size_t twin_ = 0;  ///< where the A/A is; `scoll-plain` and other libraries are behind it
};

const std::vector<column>& columns() {
  static const std::vector<column> all{{"subject", "subject", 0, 21},
                                       {"nodes", "nodes", 0, 6},
                                       {"size", "bytes", 0, 6},
                                       {"tree", "tree", 0, 10},
                                       {"p50_us", "p50 us"},
                                       {"p99_us", "p99 us"},
                                       {"max_us", "max us"},
                                       {"cpu_us_per_op", "CPU us/op"},
                                       {"syscalls_per_edge", "sys/edge", 2, 8},
                                       {"wakeups_per_op", "wake-ups", 1, 8},
                                       {"cpu_ratio", "CPU ratio", 2, 9},
                                       {"cpu_ratio_low", "low", 2, 6},
                                       {"cpu_ratio_high", "high", 2, 6},
                                       {"p50_ratio", "p50 ratio", 2, 9},
                                       {"p50_ratio_low", "low", 2, 6},
                                       {"p50_ratio_high", "high", 2, 6}};
  return all;
}

const std::vector<column>& place_columns() {
  static const std::vector<column> all{
      {"subject", "subject", 0, 21}, {"cpu_us_root", "root CPU"},      {"cpu_us_interior", "interior"},
      {"cpu_us_leaf", "leaf"},       {"syscalls_root", "root sys", 2}, {"syscalls_interior", "interior", 2},
      {"syscalls_leaf", "leaf", 2},  {"allocs_per_op", "allocs", 2},   {"messages_per_op", "messages", 1},
      {"last_leaf_us", "last leaf"}, {"predicted_us", "predicted"}};
  return all;
}

const std::vector<column>& apart_columns() {
  static const std::vector<column> all{{"bench", "bench", 0, 16},
                                       {"nodes", "nodes", 0, 6},
                                       {"size", "bytes", 0, 6},
                                       {"in_flight", "at once", 0, 7},
                                       {"p50_us", "p50 us"},
                                       {"p99_us", "p99 us"},
                                       {"cpu_us_per_op", "CPU us/op"},
                                       {"operations_per_s", "per second", 0},
                                       {"background_mib_per_s", "bulk MiB/s", 0},
                                       {"allocs_per_op", "allocs", 2, 7},
                                       {"p50_ratio", "p50 ratio", 2, 9},
                                       {"cpu_ratio", "CPU ratio", 2, 9}};
  return all;
}

const std::vector<column>& zone_columns() {
  static const std::vector<column> all{
      {"tree", "tree", 0, 12},        {"nodes", "nodes", 0, 6},         {"size", "bytes", 0, 6},
      {"zones", "zones", 0, 6},       {"edges_across", "across", 0, 7}, {"p50_us", "p50 us"},
      {"cpu_us_per_op", "CPU us/op"}, {"p50_ratio", "p50 ratio", 2, 9}, {"cpu_ratio", "CPU ratio", 2, 9}};
  return all;
}

const std::vector<column>& loss_columns() {
  static const std::vector<column> all{{"subject", "subject", 0, 12},
                                       {"nodes", "nodes", 0, 6},
                                       {"tree", "tree", 0, 10},
                                       {"kills", "kills", 0, 6},
                                       {"p50_us", "p50 us"},
                                       {"max_us", "max us"},
                                       {"in_all_p50_us", "in all us"},
                                       {"against", "against", 0, 26},
                                       {"p50_ratio", "p50 ratio", 2, 9},
                                       {"p50_ratio_low", "low", 2, 6},
                                       {"p50_ratio_high", "high", 2, 6}};
  return all;
}

rows run_case(const bench::options& common, const options& o, const setting& s,
              const scoll::link_map& links) {
  one_case it(common, s, links, o.peers);
  rows all = it.alone();
  show_progress("");
  print_table(fmt::format("bcast, {} nodes, {} bytes, {}; scoll against raw-tree, the better of the two",
                          s.nodes, s.size, to_string(s.tree)),
              columns(), all);
  print_table("per operation, by the place in the tree", place_columns(), all);
  rows beside;
  for (const std::uint32_t n : o.in_flight) beside.push_back(it.at_once(n));
  if (o.background) beside.push_back(it.under_bulk());
  if (o.traced) beside.push_back(it.traced());
  if (o.repaired) beside.push_back(it.repaired());
  if (o.quorum != 0) beside.push_back(it.quorum(o.quorum));
  show_progress("");
  if (!beside.empty())
    print_table("scoll under load or with an option, against itself without", apart_columns(), beside);
  all.insert(all.end(), beside.begin(), beside.end());
  if (o.zones != 0) {
    const rows zoned = measure_zones(common, s, o.zones);
    show_progress("");
    print_table("members dealt to zones in turn", zone_columns(), zoned);
    all.insert(all.end(), zoned.begin(), zoned.end());
  }
  if (o.kills == 0) return all;
  const rows losses = measure_loss(common, s, o.kills);
  print_table("from the news that an interior process is dead to the result", loss_columns(), losses);
  all.insert(all.end(), losses.begin(), losses.end());
  return all;
}

/// The link costs for each number of processes and bytes, measured when first requested.
class links_by_case {
 public:
  const scoll::link_map& of(const setting& s) {
    const auto [at, is_new] = known_.try_emplace({s.nodes, s.size});
    if (is_new) {
      show_progress(fmt::format("bcast: measuring the links between {} processes", s.nodes));
      at->second = measure_links(s);
    }
    return at->second;
  }

 private:
  std::map<std::pair<std::uint32_t, std::uint32_t>, scoll::link_map> known_;
};

using given_tree = std::optional<scoll::tree_spec>;  // nothing: a tree has to be chosen

std::vector<given_tree> parse(const std::vector<std::string>& trees) {
  std::vector<given_tree> all;
  for (const std::string& tree : trees) {
    const given_tree given = scoll::parse_tree(tree);
    if (!given && tree != "auto")
      throw std::invalid_argument("--tree: '" + tree + "' is neither a tree, such as knomial:4, nor auto");
    all.push_back(given);
  }
  return all;
}

/// Adds the tree to a setting; it may have to be chosen first.
setting complete(setting s, const given_tree& tree, const options& o, const scoll::link_map& links) {
  if (tree) {
    s.tree = *tree;
    return s;
  }
  const scoll::tree_plan plan = choose_tree(s.nodes, links, {.pinned = o.pinned});
  show_progress("");
  fmt::print("\n# plan, {} bytes: {}", s.size, to_text(plan));
  s.tree = plan.tree;
  s.chosen = true;
  return s;
}

void require_fitting(const given_tree& tree, const std::vector<std::uint32_t>& nodes) {
  for (const std::uint32_t n : nodes) {
    if (tree && check_tree(*tree, n) != scoll::tree_fault::none)
      throw std::invalid_argument(fmt::format("--tree: {} is no tree of {} members", to_string(*tree), n));
  }
}

}  // namespace

rows run(const bench::options& common, const options& o) {
  if (o.peers) require_peers(other_libraries, "bcast");
  if (o.quorum > std::ranges::min(o.nodes) - 1)
    throw std::invalid_argument("--quorum: one process stands still, so fewer than --nodes are merged");
  const std::vector<given_tree> trees = parse(o.trees);
  for (const given_tree& tree : trees) require_fitting(tree, o.nodes);
  links_by_case links;
  rows all;
  for (const given_tree& tree : trees) {
    for (const std::uint32_t nodes : o.nodes) {
      for (const std::uint32_t size : o.sizes) {
        const setting bare{nodes, size, {}, common.congestion_control};
        const scoll::link_map& measured = links.of(bare);
        const rows found = run_case(common, o, complete(bare, tree, o, measured), measured);
        all.insert(all.end(), found.begin(), found.end());
      }
    }
  }
  return all;
}

}  // namespace bench::bcast
