#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scoll/collective/agreement/ballot.hpp"

namespace scoll::detail {

/// The values of some members, merged.
struct contribution {
  rank_set from;
  std::vector<std::byte> value;
};

/// The answers of members to a collect or an accept. The answers of a subtree are joined on their way up.
struct agreement_answers {
  /// The members that have promised, or have voted for the proposal.
  rank_set voters;
  /// After a collect: the values of voters that have called. No member is in two contributions.
  std::vector<contribution> contributions;
  /// After a collect: the proposal that voters have accepted under the highest ballot.
  accepted_proposal accepted;
  /// The outcome, if a member knows it.
  std::optional<proposal> decided;
  /// The highest ballot that has been promised to another proposer and kept a member from voting.
  ballot overtaken_by;
  /// The number of members that have forgotten the instance.
  std::uint32_t forgotten = 0;
  /// The number of members that know the instance with another quorum rule, and take no part under this one.
  std::uint32_t other_rule = 0;
};

/// Adds the answers of other members.
void join(agreement_answers& into, const agreement_answers& from);

/// Appends all that tells a value from others, for checks that visit every state.
void describe_to(std::vector<std::uint64_t>& out, const agreement_answers& answers);

}  // namespace scoll::detail
