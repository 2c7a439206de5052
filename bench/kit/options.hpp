#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "contest.hpp"
#include "report.hpp"

namespace bench {

/// What all benchmarks understand.
struct options {
  std::uint32_t rounds = 30;
  std::uint32_t operations = 0;  ///< per subject and round; 0: the benchmark's choice
  bool quick = false;            ///< a few rounds: whether it runs, not how fast
  std::string congestion_control;

  /// `usual` operations, unless told otherwise.
  contest_options contest(std::uint32_t usual, const std::string& what) const;
};

/// A line on stderr that replaces itself, on terminals only; empty clears it.
void show_progress(const std::string& text);

}  // namespace bench
