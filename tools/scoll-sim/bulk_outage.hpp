#pragma once

#include <cstdint>

#include "properties.hpp"

namespace scoll::sim {

/// Runs two nodes of the transport in a world of their own. Bulk has a network apart from messages, and that
/// network fails as the seed draws, while both nodes pull, push and ask each other questions. Checks that
/// losing the bulk transport ends bulk alone.
void check_bulk_outage(std::uint64_t seed, violations& found);

}  // namespace scoll::sim
