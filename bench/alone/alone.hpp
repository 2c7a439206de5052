#pragma once

#include <cstdint>
#include <string>

#include "bench/kit/options.hpp"

namespace bench::alone {

/// Runs the operations of the other benchmarks with nothing beside them, so that a profiler can watch one
/// subject alone.
struct options {
  std::string job = "bcast";      ///< or rtt, which uses two processes, no tree, and has scoll only
  std::string subject = "scoll";  ///< or another one of `bench bcast`
  std::uint32_t nodes = 3;
  std::uint32_t size = 64;
  std::string tree = "chain";
};

/// Returns a row per process: which one it was, its place, its resource usage, and when the operations began and
/// ended, by CLOCK_MONOTONIC. The processes are asked to
/// end (SIGTERM) rather than killed, so that a profiler around them can write its results.
rows run(const bench::options& common, const options& o);

}  // namespace bench::alone
