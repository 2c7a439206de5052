#pragma once

#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/collective/rank_set.hpp"

namespace scoll {

/// So many members, whichever they are, for `bcast_options::until`.
struct quorum {
  std::uint32_t members = 1;
};
/// So many of these members.
struct quorum_set {
  rank_set ranks;
  std::uint32_t members = 1;
};

/// Says when the await of a broadcast ends: when every member is settled, or as soon as so many are merged.
/// Trivially copyable.
class end_condition {
 public:
  /// Every member.
  constexpr end_condition() noexcept = default;
  constexpr end_condition(quorum q) noexcept : kind_(kind::members), members_(q.members) {}

  enum class kind : std::uint8_t { everyone, members, sets };
  kind what() const noexcept { return kind_; }
  bool is_everyone() const noexcept { return kind_ == kind::everyone; }
  std::uint32_t members() const noexcept { return members_; }
  std::span<const quorum_set> sets() const noexcept { return sets_; }

 private:
  friend constexpr end_condition quorum_sets(std::span<const quorum_set> sets) noexcept;

  kind kind_ = kind::everyone;
  std::uint32_t members_ = 0;
  std::span<const quorum_set> sets_;
};
static_assert(std::is_trivially_copyable_v<end_condition>);

/// Every member: the default.
inline constexpr end_condition everyone{};
/// One member, this node included.
inline constexpr end_condition first_success{quorum{1}};
/// A quorum in each of these sets, at least one; they may overlap. The sets must stay valid and unchanged
/// until the await of the broadcast has ended.
constexpr end_condition quorum_sets(std::span<const quorum_set> sets) noexcept {
  end_condition made;
  made.kind_ = end_condition::kind::sets;
  made.sets_ = sets;
  return made;
}

/// Says what becomes of the members that are not settled when the condition of `bcast_options::until` holds,
/// or cannot hold any more.
enum class stragglers : std::uint8_t {
  go_on,  ///< they work on; what becomes of them is known by `bcast_result::rest`
  abort,  ///< they are told to stop
};

}  // namespace scoll
