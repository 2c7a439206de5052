#include "scoll/collective/agreement/ballot.hpp"

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

bool is_quorum(quorum_rule rule, std::uint32_t members, const rank_set& voters, const rank_set& given_up) {
  if (rule == quorum_rule::survivors) return (rank_set::all(members) - given_up - voters).empty();
  if (SCOLL_MUTANT(agree_minority, "half of the members, rounded down, can decide"))
    return voters.size() >= members / 2;
  return voters.size() > members / 2;
}

}  // namespace scoll::detail
