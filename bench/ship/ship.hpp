#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/member.hpp"
#include "bench/kit/options.hpp"

namespace bench::ship {

/// Sends a call to another process, whose result comes back. Process 0 calls the others in turn.
struct setting {
  std::uint32_t size = 0;  ///< bytes of the argument and of the result
  std::uint32_t peers = 1;
  std::string congestion_control;
};

/// The options of `./dev bench ship` besides those of all benchmarks.
struct options {
  std::vector<std::uint32_t> sizes{0, 64, 4096};
  std::vector<std::uint32_t> in_flight{4, 16, 64, 256};
  std::vector<std::uint32_t> peers{1, 4, 16};
};

/// Uses two nodes and the function shipper.
void play_calls(member& me, const setting& s);

/// Measures latency for every size, and rates for every number of calls in flight and for every number of
/// peers.
rows run(const bench::options& o, const options& mine);

}  // namespace bench::ship
