#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoll/collective/rank_set.hpp"

// The terms of the agreement: Paxos, with one instance for each number. Every member of the group is an
// acceptor, and any member may propose.
namespace scoll::detail {

/// The number of one attempt of a proposer. Two proposers never use the same ballot. A default-constructed
/// ballot is lower than all others and stands for none.
struct ballot {
  std::uint32_t round = 0;
  std::uint32_t rank = 0;  ///< the proposer

  constexpr bool none() const noexcept { return round == 0; }
  friend constexpr auto operator<=>(const ballot&, const ballot&) = default;
};

/// The outcome that a proposer puts to the vote.
struct proposal {
  /// The values of the members outside `failed`, each merged once. In a shrink it is the digest of the new
  /// membership.
  std::vector<std::byte> value{};
  rank_set failed{};
  /// Names the group that a shrink creates, with the digest: the proposer's node, its life, and a counter of
  /// that node taken for this proposal. All are 0 for any other agreement.
  std::uint64_t creator = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;

  friend bool operator==(const proposal&, const proposal&) = default;
};

/// A proposal and the ballot under which it was accepted.
struct accepted_proposal {
  ballot at;
  proposal what;
};

/// Decides how many members must promise and accept.
enum class quorum_rule : std::uint8_t {
  majority = 0,   ///< more than half of all members
  survivors = 1,  ///< all members that the proposer does not give up
};

/// True if `voters` decide among `members`, of whom the proposer has given up `given_up`.
bool is_quorum(quorum_rule rule, std::uint32_t members, const rank_set& voters, const rank_set& given_up);

/// Appends all that tells a value from others, for checks that visit every state.
inline void describe_to(std::vector<std::uint64_t>& out, const ballot& b) {
  out.insert(out.end(), {b.round, b.rank});
}
inline void describe_to(std::vector<std::uint64_t>& out, const rank_set& ranks) {
  out.push_back(ranks.ranges().size());
  for (const rank_range& r : ranks.ranges()) out.insert(out.end(), {r.first, r.last});
}
inline void describe_to(std::vector<std::uint64_t>& out, const std::vector<std::byte>& value) {
  out.push_back(value.size());
  for (const std::byte b : value) out.push_back(std::to_integer<std::uint64_t>(b));
}
inline void describe_to(std::vector<std::uint64_t>& out, const proposal& p) {
  describe_to(out, p.value);
  describe_to(out, p.failed);
  out.insert(out.end(), {p.creator, p.incarnation, p.counter});
}
inline void describe_to(std::vector<std::uint64_t>& out, const accepted_proposal& p) {
  describe_to(out, p.at);
  describe_to(out, p.what);
}

}  // namespace scoll::detail
