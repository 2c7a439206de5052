#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../kit/member.hpp"
#include "../kit/options.hpp"

namespace bench::ship {

/// A call goes to one of the other processes, its result comes back. Process 0 calls, the others in turn.
struct setting {
  std::uint32_t size = 0;  ///< bytes of the argument and of the result
  std::uint32_t peers = 1;
  std::string congestion_control;
};

/// What `./dev bench ship` takes beside what all do.
struct options {
  std::vector<std::uint32_t> sizes{0, 64, 4096};
  std::vector<std::uint32_t> in_flight{4, 16, 64, 256};
  std::vector<std::uint32_t> peers{1, 4, 16};
};

/// Through two nodes and the function shipper.
void play_calls(member& me, const setting& s);

/// Latency for every size, rates for every number in flight, and for every number of peers.
rows run(const bench::options& o, const options& mine);

}  // namespace bench::ship
