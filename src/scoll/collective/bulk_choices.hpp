#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "scoll/bulk/costs.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/collective/subset.hpp"

namespace scoll::detail {

/// What broadcasts from this node to a group choose the plan for their bulk data by.
class bulk_choices {
 public:
  std::optional<bulk_costs> costs;  ///< if not set, those of the node
  std::optional<bulk_plan> pinned;  ///< likewise

  /// Takes what the options say, and keeps what they do not say.
  void use(const group_options& options) {
    if (options.bulk_costs) costs = options.bulk_costs;
    if (options.bulk_plan) pinned = options.bulk_plan;
  }
  /// Gives to the options what they do not say.
  void complete(group_options& options) const {
    if (!options.bulk_costs) options.bulk_costs = costs;
    if (!options.bulk_plan) options.bulk_plan = pinned;
  }

  /// Sets the host of each rank; empty: each has its own.
  void know_hosts(std::vector<std::uint32_t> of_ranks) {
    hosts_ = std::move(of_ranks);
    on_one_host_ = most_together(rank_set::all(static_cast<std::uint32_t>(hosts_.size())));
  }
  const std::vector<std::uint32_t>& hosts() const noexcept { return hosts_; }
  /// The number of members on the host that has the most of them: among all, or among those of a subset. It
  /// allocates nothing for all.
  std::uint32_t most_on_one_host(const subset* among) const {
    return among == nullptr || hosts_.empty() ? on_one_host_ : most_together(among->ranks());
  }

 private:
  std::uint32_t most_together(const rank_set& ranks) const {
    std::vector<std::uint32_t> sorted;
    ranks.for_each([&](std::uint32_t rank) { sorted.push_back(hosts_[rank]); });
    std::ranges::sort(sorted);
    std::uint32_t most = 1;
    for (auto first = sorted.begin(); first != sorted.end();) {
      const auto last = std::upper_bound(first, sorted.end(), *first);
      most = std::max(most, static_cast<std::uint32_t>(last - first));
      first = last;
    }
    return most;
  }

  std::vector<std::uint32_t> hosts_;  // by rank
  std::uint32_t on_one_host_ = 1;
};

}  // namespace scoll::detail
