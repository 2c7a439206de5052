#pragma once

#include <cstdint>

#include "../kit/options.hpp"
#include "bcast.hpp"
#include "scoll/tree/any_tree.hpp"

namespace bench::bcast {

/// Parameters of the LogP model that trees are predicted with, in ns: of scoll, on this machine, now.
struct link_costs {
  std::uint64_t latency = 0;
  std::uint64_t gap = 0;
  std::uint64_t merge = 0;
};

/// From broadcasts of 64 bytes to one process and to four: half the way there and back is the latency; what
/// three more children add, is gap and merge in equal parts.
link_costs measure_links(const bench::options& common);

/// The tree of a setting. Throws if it is none.
scoll::any_tree any_tree_of(const setting& s);

/// From the root's start to the last reply merged. The model has a processor per node: with fewer, it is too
/// low.
double predict_us(const setting& s, const link_costs& costs);

}  // namespace bench::bcast
