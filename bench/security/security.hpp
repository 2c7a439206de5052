#pragma once

#include <string>
#include <vector>

#include "bench/kit/options.hpp"

namespace bench::security {

struct options {
  std::vector<std::string> cases{"rtt", "rtt-apart", "bcast", "pull", "flood"};
};

/// Runs each case with connections that are guarded by the ring (mode `psk`) beside the same in the clear, and
/// calls over guarded connections with a flood of handshakes beside the same without.
rows run(const bench::options& common, const options& o);

}  // namespace bench::security
