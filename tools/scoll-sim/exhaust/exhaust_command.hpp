#pragma once

#include <cstdint>
#include <string>

// NOLINTBEGIN(readability-identifier-naming): CLI11 calls it so
namespace CLI {
class App;
}
// NOLINTEND(readability-identifier-naming)

namespace scoll::sim {

/// The options of `--exhaust`.
struct exhaust_arguments {
  std::string subject;  ///< empty: the option was not given
};

void add_exhaust_options(CLI::App& app, exhaust_arguments& a);

/// Tries all cases of a subject and prints a line for each part, as a table or JSON. Returns 0 if everything
/// held, else 1.
int run_exhaust(const exhaust_arguments& a, std::uint64_t seed, bool json);

}  // namespace scoll::sim
