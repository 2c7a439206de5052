#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/error.hpp"

namespace scoll {

/// What is known of one member of a broadcast.
enum class member_state : std::uint8_t {
  merged = 0,       ///< executed, and its reply is in the value
  executed = 1,     ///< executed, but its reply was lost or could not be merged
  failed = 2,       ///< got the request and did not execute it, or its `execute` failed: see the cause
  not_reached = 3,  ///< provably never got the request: never sent, or refused on arrival
  unknown = 4,      ///< the path to it suffered a death, a break or a deadline
  excluded = 5,     ///< not addressed: the broadcast was for other members
};

/// Where something went wrong.
enum class phase : std::uint8_t {
  none = 0,
  liveness = 1,   ///< known dead before anything was sent
  admission = 2,  ///< on arrival, before any hook: unknown group or service, busy, wrong parent, version,
                  ///< does not decode
  prepare = 3,
  bulk = 4,
  execute = 5,
  reply = 6,     ///< its reply was too large, did not decode, or `finish` failed
  delivery = 7,  ///< the connection to it broke, or it did not answer in time
};

std::string_view to_string(member_state state) noexcept;
std::string_view to_string(phase p) noexcept;

/// Why members are in a state other than `merged`: what happened, where, and who says so.
struct cause {
  phase where = phase::none;
  error what;
  std::uint32_t reporter = 0;  ///< rank of the member that noticed
  friend bool operator==(const cause&, const cause&) = default;
};

/// Members in one state for one reason.
struct member_report {
  rank_range members;
  member_state state = member_state::merged;
  std::uint16_t cause_index = 0;  ///< into `outcome::causes()`; 0 for `merged`
  friend bool operator==(const member_report&, const member_report&) = default;
};

/// Members that took part in a broadcast to the living, and see a different set of live members than the
/// root. Views differ for moments after every death.
struct dissent {
  std::uint32_t members = 0;
  std::uint32_t first = 0;  ///< rank of one of them
  friend bool operator==(const dissent&, const dissent&) = default;
};

/// The exact account of a broadcast: every rank has one state. A clean one (all that were addressed executed
/// and are merged) to a whole group is one number and holds no memory.
class outcome {
 public:
  outcome() = default;
  explicit outcome(std::uint32_t members) noexcept : members_(members) {}
  /// `reports` are sorted, adjoin and cover all members; `causes[0]` is the empty cause.
  outcome(std::uint32_t members, std::vector<member_report> reports, std::vector<cause> causes);

  std::uint32_t members() const noexcept { return members_; }
  bool clean() const noexcept { return clean_; }

  member_state state(std::uint32_t rank) const noexcept;
  /// The cause of a member's state; the empty one if it is merged.
  const cause& why(std::uint32_t rank) const noexcept;
  std::uint32_t count(member_state state) const noexcept;

  /// All who executed, merged or not.
  rank_set executed() const;
  rank_set merged() const { return in(member_state::merged); }
  rank_set failed() const { return in(member_state::failed); }
  rank_set not_reached() const { return in(member_state::not_reached); }
  rank_set unknown() const { return in(member_state::unknown); }
  rank_set in(member_state state) const;

  const dissent& dissenting() const noexcept { return dissent_; }
  void set_dissent(const dissent& d) noexcept { dissent_ = d; }

  /// One entry per run of members that share state and cause; empty if clean and the whole group's.
  const std::vector<member_report>& reports() const noexcept { return reports_; }
  const std::vector<cause>& causes() const noexcept { return causes_; }

 private:
  const member_report* find(std::uint32_t rank) const noexcept;

  std::uint32_t members_ = 0;
  bool clean_ = true;
  dissent dissent_;
  std::vector<member_report> reports_;
  std::vector<cause> causes_;
};

/// "14 of 16 executed and merged; unknown: 5-6 (delivery: connection_lost: ..., says rank 4)" for people.
std::string describe(const outcome& o);
/// The same with node ids in place of ranks.
std::string describe(const outcome& o, const membership& members);

}  // namespace scoll
