#pragma once

#include <cstdint>

#include "../kit/member.hpp"
#include "bcast.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/link_map.hpp"

namespace bench::bcast {

/// What a process found out about its links, in memory that it shares with this program.
struct found_links {
  scoll::link_costs costs;
  std::uint32_t processors = 0;
};

/// As `play_scoll`; before the first order its first process measures the links to the others.
void play_measuring(member& me, const setting& s, found_links& into);

/// The links between as many processes as the setting has, with messages of its size, as
/// `scoll::measure_links` finds them from the first of them.
scoll::link_map measure_links(const setting& s);

/// The tree of a setting. Throws if it is none.
scoll::any_tree any_tree_of(const setting& s);

/// From the root's start to the last reply merged.
double predict_us(const setting& s, const scoll::link_map& links);

}  // namespace bench::bcast
