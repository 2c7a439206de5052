#pragma once

#include <cstdint>
#include <string>

#include "tools/scoll-sim/exhaust/subjects.hpp"

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// The options of `--exhaust`.
struct exhaust_arguments {
  std::string subject;             ///< empty: the option was not given
  std::uint32_t most_members = 0;  ///< of the groups of `bulk`, `kill` and `kill-two`; 0: the usual number
  std::string tree;                ///< the only one of `kill` and `kill-two`; empty: all of them
  std::string policy;              ///< likewise
};

void add_exhaust_options(CLI::App& app, exhaust_arguments& a);

/// Tries all cases of a subject and prints a line for each part, as a table or JSON. Returns 0 if everything
/// held, else 1.
int run_exhaust(const exhaust_arguments& a, const exhaust_settings& settings, bool json);

}  // namespace scoll::sim
