#pragma once

#include "scoll/node.hpp"

namespace scoll::detail {

class engine;
class shipper;

/// The parts of a node, for the library's own sources, its tests and the simulator.
struct node_access {
  static detail::engine& engine(node& n) noexcept { return *n.engine_; }
  static detail::shipper& shipper(node& n) noexcept { return *n.shipper_; }
};

}  // namespace scoll::detail
