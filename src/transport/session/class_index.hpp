#pragma once

#include <cstddef>

#include "transport/session/frame.hpp"

namespace scoll::transport {

/// Positions in tables by traffic class and by lane.
constexpr std::size_t index(traffic_class c) noexcept {
  return static_cast<std::size_t>(c);
}
constexpr std::size_t index(lane_id l) noexcept {
  return static_cast<std::size_t>(l);
}

}  // namespace scoll::transport
