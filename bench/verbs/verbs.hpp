#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/kit/options.hpp"

/// Two processes over RDMA devices, each with one of its own. `tests/verbs/bench.py` sets perftest beside it.
namespace bench::verbs {

struct options {
  std::vector<std::string> hosts{"10.0.0.1", "10.0.0.2"};
  std::vector<std::string> cases{"rtt", "pull", "pull-copied", "idle"};
  std::uint32_t rtt_bytes = 64;
  std::uint32_t pull_bytes = 1U << 20U;
  std::uint32_t pulls_at_once = 4;
};

rows run(const bench::options& common, const options& o);

}  // namespace bench::verbs
