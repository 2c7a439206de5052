#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"
#include "report.hpp"

namespace bench {

/// The options that all benchmarks understand.
struct options {
  std::uint32_t rounds = 30;
  std::uint32_t operations = 0;  ///< per subject and round; 0: the benchmark's choice
  bool quick = false;            ///< a few rounds: shows that it runs, not how fast
  std::string congestion_control;

  /// Returns the options of a contest, with `usual` operations unless the option is given.
  contest_options contest(std::uint32_t usual, const std::string& what) const;
};

/// Prints a line on stderr that replaces itself, on terminals only; an empty text clears it.
void show_progress(const std::string& text);

}  // namespace bench
