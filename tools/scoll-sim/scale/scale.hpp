#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "scoll/tree/spec.hpp"
#include "transport/sim/sim_network.hpp"

namespace scoll::sim {

/// Returns wires for measurements: without jitter, and with hosts that do one thing at a time, as in LogP.
testing::sim_link_model scale_wire();

/// A cluster without faults, and broadcasts from its first member down one tree.
struct scale_options {
  std::uint32_t nodes = 1000;  ///< 2 to `max_members`
  tree_spec tree;
  testing::sim_link_model wire = scale_wire();
  std::uint64_t seed = 1;  ///< of the jitter
  bool progress = false;   ///< on standard error
};

/// The results of a case. Times are the root's, in virtual time, from the start of a broadcast.
struct scale_report {
  std::uint32_t levels = 0;
  std::uint32_t root_fan_out = 0;
  std::uint64_t first_merged_ns = 0;  ///< in the first broadcast, which makes all connections
  std::uint64_t reached_ns = 0;       ///< in the second: the last member executes
  std::uint64_t merged_ns = 0;        ///< the root has the merged reply
  std::uint64_t predicted_reached_ns = 0;
  std::uint64_t predicted_merged_ns = 0;
  std::uint64_t messages = 0;     ///< requests and replies of the second broadcast
  std::uint64_t bytes = 0;        ///< of all frames of both broadcasts
  std::uint64_t events = 0;       ///< deliveries, timers and coroutine steps of both broadcasts
  double building_s = 0;          ///< processor time until every node listens
  double running_s = 0;           ///< processor time of both broadcasts
  double wall_s = 0;              ///< for everything
  std::uint64_t peak_kib = 0;     ///< resident memory
  std::array<char, 240> wrong{};  ///< the check that failed, if any

  bool ok() const noexcept { return wrong[0] == '\0'; }
  double events_per_second() const noexcept { return static_cast<double>(events) / running_s; }
};

/// Runs the case in this process, where its nodes then stay: for profiling.
scale_report run_scale(const scale_options& options);
/// Runs the case in a process of its own, so that its memory can be measured and is released at once. Throws
/// `std::runtime_error` if that process dies.
scale_report measure_scale(const scale_options& options);

/// Returns the trees to compare at a size: k-ary, k-nomial and greedy, for these wires; flat and chain up to
/// 10^4.
std::vector<tree_spec> scale_trees(std::uint32_t nodes, const testing::sim_link_model& wire);

// As text: a line per run, with a heading.

std::string scale_heading();
std::string scale_line(const scale_options& options, const scale_report& r);
std::string scale_csv_heading();
std::string scale_csv_line(const scale_options& options, const scale_report& r);
std::string scale_json(const scale_options& options, const scale_report& r);

}  // namespace scoll::sim
