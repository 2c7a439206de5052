#pragma once

#include <cstdint>
#include <string>

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// The options of `--gossip-study`.
struct gossip_study_arguments {
  bool asked = false;
  bool all = false;
  bool list = false;
  bool resume = false;
  double loss = 0.05;
  double pairs = 0;  ///< 0: the usual number
  std::int64_t interval_ms = 200;
  std::string csv;
};

void add_gossip_study_options(CLI::App& app, gossip_study_arguments& a);

/// Studies one size, loss and interval under each rule, or everything in docs/gossip.md, with `jobs` cases at
/// a time, and prints a table. `json` is a file for the rows unless it is empty. Throws `std::runtime_error`
/// if a file cannot be written.
int run_gossip_studies(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed,
                       std::uint32_t jobs, const std::string& json, bool quiet);

}  // namespace scoll::sim
