#pragma once

#include <cstdint>

#include "bcast.hpp"
#include "bench/kit/options.hpp"

namespace bench::bcast {

/// Measures a tree that enters each zone once beside a k-nomial tree, over members that are dealt to so many zones
/// in turn. The processes are all on one machine, so the row shows what the tree itself costs, and how many of
/// its edges are between zones.
rows measure_zones(const bench::options& common, const setting& s, std::uint32_t zones);

}  // namespace bench::bcast
