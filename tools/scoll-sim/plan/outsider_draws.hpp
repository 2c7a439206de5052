#pragma once

#include <cstddef>
#include <cstdint>

#include "tools/scoll-sim/plan/draws.hpp"
#include "tools/scoll-sim/plan/guard_events.hpp"

namespace scoll::sim {

/// The most times that outsiders come in a run.
inline constexpr std::uint64_t most_outsiders = 24;

/// Draws how an outsider comes to one of `hosts` hosts, two at least, which have so many rails each, in one of the first
/// so many manners.
events::outsider drawn_outsider(draws& random, std::uint32_t hosts, std::uint32_t rails,
                                std::size_t manners = manners_without_certificates) noexcept;

}  // namespace scoll::sim
