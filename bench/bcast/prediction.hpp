#pragma once

#include <cstdint>
#include <optional>

#include "bcast.hpp"
#include "bench/kit/member.hpp"
#include "scoll/tree/any_tree.hpp"
#include "scoll/tree/link_map.hpp"

namespace bench::bcast {

/// The costs that a process measured on its links, in memory that it shares with this program.
struct found_links {
  scoll::link_costs costs;
  std::optional<scoll::bulk_costs> bulk;
  std::uint32_t processors = 0;
};

/// Like `play_scoll`, but before the first order the first process measures the links to the others.
void play_measuring(member& me, const setting& s, found_links& into);

/// Measures the links between as many processes as the setting has, with messages of its size, as
/// `scoll::measure_links` does from the first process.
scoll::link_map measure_links(const setting& s);

/// Returns the tree of a setting. Throws if the setting's tree is not valid.
scoll::any_tree any_tree_of(const setting& s);

/// Predicts the time from the root's start until the last reply is merged.
double predict_us(const setting& s, const scoll::link_map& links);

}  // namespace bench::bcast
