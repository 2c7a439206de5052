#pragma once

#include <cstddef>

#include "transport/session/frame.hpp"

namespace scoll::transport {

/// The positions of traffic classes and lanes in tables.
constexpr std::size_t index(traffic_class c) noexcept {
  return static_cast<std::size_t>(c);
}
constexpr std::size_t index(lane_id l) noexcept {
  return static_cast<std::size_t>(l);
}

}  // namespace scoll::transport
