#include "scoll/collective/operation/subject.hpp"

#include <algorithm>

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

operation_subject::ranks_in_order operation_subject::in_order(rank_range relative_ranks) const noexcept {
  const std::uint32_t first = SCOLL_MUTANT(relative_ranks_reported, "the account speaks of relative ranks")
                                  ? relative_ranks.first
                                  : to_rank(relative_ranks.first, root, members);
  const std::uint32_t before_end = std::min(relative_ranks.size(), members - first);
  const bool forgotten =
      SCOLL_MUTANT(subset_forgotten, "the account of a subset speaks of the first ranks of the group");
  return {first, first + before_end, relative_ranks.size() - before_end, forgotten ? nullptr : subset.get()};
}

}  // namespace scoll::detail
