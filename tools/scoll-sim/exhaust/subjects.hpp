#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace scoll::sim {

/// One part of an exhaustive check, which ran to its end or found a violation.
struct exhausted {
  std::string part;              ///< what was varied
  std::uint64_t cases = 0;       ///< cases or states that were tried
  std::string violation;         ///< empty if everything held
  std::vector<std::string> way;  ///< the steps that lead to the violation, if there are any
};

/// How a subject is tried.
struct exhaust_settings {
  std::uint64_t seed = 1;          ///< of what is drawn beside
  std::uint32_t jobs = 1;          ///< threads, where a subject uses several
  std::uint32_t most_members = 0;  ///< of the groups of `bulk`, `kill` and `kill-two`; 0: the usual number
  std::string tree;                ///< the only one of `kill` and `kill-two`; empty: all of them
  std::string policy;              ///< likewise
  bool progress = false;           ///< on standard error
};

/// A subject of `--exhaust`: what is small enough to be tried in full.
struct exhaust_subject {
  std::string_view name;
  std::string_view what;
  /// Tries everything.
  std::vector<exhausted> (*run)(const exhaust_settings& settings);
};

std::span<const exhaust_subject> exhaust_subjects();

}  // namespace scoll::sim
