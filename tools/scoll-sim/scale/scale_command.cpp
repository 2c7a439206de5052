#include "tools/scoll-sim/scale/scale_command.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <fstream>
#include <numeric>
#include <optional>
#include <stdexcept>

#include "scoll/collective/membership.hpp"
#include "scoll/coro/error_format.hpp"
#include "tools/scoll-sim/scale/bulk_scale.hpp"
#include "tools/scoll-sim/scale/revoke_scale.hpp"

namespace scoll::sim {
namespace {

constexpr std::uint32_t most_bulk_nodes = 256;
constexpr std::uint32_t most_bulk_pieces = 4096;

testing::sim_link_model wire_of(const scale_arguments& a) {
  testing::sim_link_model wire = scale_wire();
  wire.latency = nanoseconds(a.latency_ns);
  wire.overhead = nanoseconds(a.overhead_ns);
  wire.gap = nanoseconds(a.gap_ns);
  wire.jitter = nanoseconds(a.jitter_ns);
  wire.ps_per_byte = a.ps_per_byte;
  return wire;
}

std::vector<tree_spec> trees_of(const scale_arguments& a, std::uint32_t nodes) {
  if (a.trees.empty()) return scale_trees(nodes, wire_of(a));
  std::vector<tree_spec> trees;
  for (const std::string& text : a.trees) {
    const auto tree = parse_tree(text);
    if (!tree)
      throw std::runtime_error("there is no tree " + text + ": knomial:8, kary:4, greedy:120,10,10, ...");
    trees.push_back(*tree);
  }
  return trees;
}

std::ofstream csv_file(const scale_arguments& a, const std::string& heading) {
  std::ofstream csv;
  if (a.csv.empty()) return csv;
  csv.open(a.csv);
  csv << heading;
  return csv;
}

void expect_written(const scale_arguments& a, const std::ofstream& csv) {
  if (!a.csv.empty() && !csv) throw std::runtime_error("cannot write " + a.csv);
}

bool shows_progress(bool quiet) {
  return !quiet && isatty(STDERR_FILENO) != 0;
}

int run_revoke_scales(const scale_arguments& a, std::uint64_t seed, bool json, bool quiet) {
  std::ofstream csv = csv_file(a, revoke_scale_csv_heading());
  if (!json) std::fputs(revoke_scale_heading().c_str(), stdout);
  bool all_ok = true;
  for (const std::uint32_t nodes : a.nodes) {
    const revoke_scale_options options{nodes, wire_of(a), seed, shows_progress(quiet)};
    const revoke_scale_report r = measure_revoke(options);
    std::fputs((json ? revoke_scale_json(options, r) : revoke_scale_line(options, r)).c_str(), stdout);
    if (!r.ok()) std::printf("violated: %u nodes: %s\n", nodes, r.wrong.data());
    std::fflush(stdout);
    csv << revoke_scale_csv_line(options, r) << std::flush;
    all_ok = all_ok && r.ok();
  }
  expect_written(a, csv);
  return all_ok ? 0 : 1;
}

int run_bulk_scales(const scale_arguments& a, bool json) {
  if (!json) std::fputs(bulk_scale_heading().c_str(), stdout);
  bool all_ok = true;
  std::optional<bulk_costs> costs;
  for (const std::uint32_t nodes : a.nodes) {
    if (nodes > most_bulk_nodes) {
      throw std::runtime_error(
          fmt::format("--bulk takes up to {} nodes, all of whom may connect to all others", most_bulk_nodes));
    }
    const bulk_scale_report report = run_bulk_scale(nodes, bulk_wire(), a.pieces);
    for (const bulk_scale_row& row : report.rows) {
      std::fputs((json ? bulk_scale_json(row) : bulk_scale_line(row)).c_str(), stdout);
      all_ok = all_ok && row.ok();
      if (!row.ok()) std::printf("violated: %s\n", row.wrong.c_str());
    }
    std::fflush(stdout);
    costs = report.costs;
  }
  if (!json && costs) {
    std::fputs(fmt::format("measured: hop {} ns, piece {} ns, {} ps per byte, {} ps to hash it\n",
                           costs->hop_ns, costs->piece_ns, costs->link_ps, costs->hash_ps)
                   .c_str(),
               stdout);
  }
  return all_ok ? 0 : 1;
}

}  // namespace

void add_scale_options(CLI::App& app, scale_arguments& a) {
  const std::string group = "Scale";
  app.add_option("--scale", a.nodes,
                 "broadcasts in clusters of so many nodes, against the model: 1000,10000 ...")
      ->delimiter(',')
      ->check(CLI::Range(std::uint32_t{2}, max_members))
      ->group(group);
  app.add_flag_callback(
         "--scale-all", [&a] { a.nodes = {1000, 10'000, 100'000, 1'000'000}; },
         "--scale 1000,10000,100000,1000000")
      ->group(group);
  app.add_option(
         "--tree", a.trees,
         "for --scale, may be repeated: k-ary, k-nomial and greedy if none is named, up to 10,000 nodes "
         "flat and chain, too")
      ->group(group);
  app.add_option("--csv", a.csv, "write the figures of --scale to this file")->group(group);
  app.add_flag("--revoke", a.revoke,
               "for --scale: revokes instead of broadcasts, against the model; L in whole o")
      ->group(group);
  app.add_flag("--bulk", a.bulk,
               "for --scale: broadcasts with bulk data, by every plan, against the model with the costs that "
               "the root "
               "measures; up to 256 nodes")
      ->group(group);
  app.add_option("--bulk-pieces", a.pieces, "for --bulk: the numbers of pieces of 64 KiB")
      ->delimiter(',')
      ->capture_default_str()
      ->check(CLI::Range(std::uint32_t{1}, most_bulk_pieces))
      ->group(group);
  app.add_flag_callback(
         "--bulk-all",
         [&a] {
           a.bulk = true;
           a.nodes.resize(127);
           std::iota(a.nodes.begin(), a.nodes.end(), 2U);
         },
         "--scale 2,3,...,128 --bulk")
      ->group(group);
  constexpr std::int64_t longest_ns = 1'000'000'000;
  const auto add_ns = [&](const char* name, std::int64_t& value, const char* what) {
    app.add_option(name, value, what)
        ->capture_default_str()
        ->check(CLI::Range(std::int64_t{0}, longest_ns))
        ->group(group);
  };
  add_ns("--latency-ns", a.latency_ns, "LogGP's L");
  add_ns("--overhead-ns", a.overhead_ns, "LogGP's o, of a send and of a receive");
  add_ns("--gap-ns", a.gap_ns, "LogGP's g");
  add_ns("--jitter-ns", a.jitter_ns, "at most this is added to every latency");
  app.add_option("--ps-per-byte", a.ps_per_byte, "LogGP's G")
      ->capture_default_str()
      ->check(CLI::Range(std::uint64_t{0}, std::uint64_t{1'000'000'000}))
      ->group(group);
}

int run_scales(const scale_arguments& a, std::uint64_t seed, bool json, bool quiet) {
  if (a.revoke) return run_revoke_scales(a, seed, json, quiet);
  if (a.bulk) return run_bulk_scales(a, json);
  std::ofstream csv = csv_file(a, scale_csv_heading());
  if (!json) std::fputs(scale_heading().c_str(), stdout);
  bool all_ok = true;
  for (const std::uint32_t nodes : a.nodes) {
    for (const tree_spec& tree : trees_of(a, nodes)) {
      scale_options options;
      options.nodes = nodes;
      options.tree = tree;
      options.wire = wire_of(a);
      options.seed = seed;
      options.progress = shows_progress(quiet);
      const scale_report r = measure_scale(options);
      std::fputs((json ? scale_json(options, r) : scale_line(options, r)).c_str(), stdout);
      if (!r.ok())
        std::printf("violated: %s, %u nodes: %s\n", to_string(tree).c_str(), nodes, r.wrong.data());
      std::fflush(stdout);
      csv << scale_csv_line(options, r) << std::flush;
      all_ok = all_ok && r.ok();
    }
  }
  expect_written(a, csv);
  return all_ok ? 0 : 1;
}

}  // namespace scoll::sim
