#include "scoll/collective/round_trips.hpp"

#include <algorithm>

#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_state.hpp"

namespace scoll::detail {

nanoseconds round_trip_to(const node_options& options, const transport::session& child) noexcept {
  const nanoseconds safe = child.rtt().safe();
  if (safe.count() == 0) return options.rtt_estimate;
  return options.measured_rtt ? safe : std::max(safe, options.rtt_estimate);
}

group_timing timing_of(const engine& at, const addressees& to) {
  group_timing t;
  const auto service = at.find_service(to.group->service);
  tree_fault fault = tree_fault::none;
  const any_tree* const tree = to.group->resolve(to.group->tree, to.subset, to.group->self_rank, fault);
  if (service == nullptr || tree == nullptr || to.size() == 0) return t;
  const nanoseconds known = to.group->round_trip;
  t.round_trip = known.count() == 0 ? at.options().rtt_estimate : known;
  t.measured = to.group->measured_round_trip;
  t.level_margin = at.options().level_margin;
  t.processing = service->table->processing_bound;
  t.levels = static_cast<std::uint32_t>(tree->subtree_levels(to.size(), 0));
  t.longest = t.levels * (t.round_trip + t.level_margin) + t.processing;
  return t;
}

}  // namespace scoll::detail
