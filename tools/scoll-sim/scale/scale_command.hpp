#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tools/scoll-sim/scale/scale.hpp"

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// The options of `--scale`.
struct scale_arguments {
  std::vector<std::uint32_t> nodes;  ///< empty: the option was not given
  std::vector<std::string> trees;    ///< empty: the trees of `scale_trees`
  std::string csv;
  bool revoke = false;                          ///< revokes take the place of broadcasts
  bool bulk = false;                            ///< broadcasts have bulk data, by every plan
  std::vector<std::uint32_t> pieces{1, 8, 64};  ///< of the bulk data
  std::int64_t latency_ns = scale_wire().latency.count();
  std::int64_t overhead_ns = scale_wire().overhead.count();
  std::int64_t gap_ns = scale_wire().gap.count();
  std::int64_t jitter_ns = scale_wire().jitter.count();
  std::uint64_t ps_per_byte = scale_wire().ps_per_byte;
};

void add_scale_options(CLI::App& app, scale_arguments& a);

/// Runs every size with every tree, one after the other, and prints a line for each, as a table or JSON.
/// Returns 0 if every check passed, else 1. Throws `std::runtime_error` for a case that cannot be run.
int run_scales(const scale_arguments& a, std::uint64_t seed, bool json, bool quiet);

}  // namespace scoll::sim
