#pragma once

#include <cstdint>
#include <string>

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// What `--gossip-study` is told.
struct gossip_study_arguments {
  bool asked = false;
  bool all = false;
  bool list = false;
  bool resume = false;
  double loss = 0.05;
  double pairs = 0;  ///< 0: as many as are usual
  std::int64_t interval_ms = 200;
  std::string csv;
};

void add_gossip_study_options(CLI::App& app, gossip_study_arguments& a);

/// Studies one size, loss and interval under each rule, or everything of docs/gossip.md, `jobs` cases at a
/// time, and prints a table. `json` is a file for the rows, if not empty. Throws `std::runtime_error` for a
/// file that cannot be written.
int run_gossip_studies(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed,
                       std::uint32_t jobs, const std::string& json, bool quiet);

}  // namespace scoll::sim
