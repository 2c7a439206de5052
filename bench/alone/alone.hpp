#pragma once

#include <cstdint>
#include <string>

#include "../kit/options.hpp"

namespace bench::alone {

/// What the other benchmarks measure scoll at, with nothing beside it: for a profiler to look at.
struct options {
  std::string job = "bcast";  ///< or rtt, which has two processes and no tree
  std::uint32_t nodes = 3;
  std::uint32_t size = 64;
  std::string tree = "chain";
};

/// A row per process: which one it was, its place, and what it used. The processes are told to end (SIGTERM)
/// rather than killed, so that a profiler around them can write down what it has seen.
rows run(const bench::options& common, const options& o);

}  // namespace bench::alone
