#pragma once

#include <chrono>

#include "transport/sim/sim_network.hpp"

namespace scoll::test {

/// A link whose times are round numbers and do not vary.
inline testing::sim_link_model exact() {
  testing::sim_link_model model;
  model.latency = std::chrono::microseconds(100);
  model.overhead = std::chrono::microseconds(3);
  model.gap = std::chrono::microseconds(0);
  model.ps_per_byte = 1'000'000;  // 1 us per byte
  model.jitter = nanoseconds(0);
  return model;
}

}  // namespace scoll::test
