#pragma once

#include <cstdint>
#include <string>

namespace CLI {
class App;
}

namespace scoll::sim {

/// What `--gossip-study` is told.
struct gossip_study_arguments {
  bool asked = false;
  bool all = false;
  double loss = 0.05;
  std::int64_t interval_ms = 200;
  std::string csv;
};

void add_gossip_study_options(CLI::App& app, gossip_study_arguments& a);

/// Studies one size, loss and interval under each rule, or everything of docs/gossip.md, and prints a table.
/// `json` is a file for the rows, if not empty. Throws `std::runtime_error` for a file that cannot be
/// written.
int run_gossip_studies(const gossip_study_arguments& a, std::uint32_t nodes, std::uint64_t seed,
                       const std::string& json, bool quiet);

}  // namespace scoll::sim
