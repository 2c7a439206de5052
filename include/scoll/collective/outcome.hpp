#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/error.hpp"

namespace scoll {

/// The state of one member after a broadcast.
enum class member_state : std::uint8_t {
  /// It executed, and its reply is in the value.
  merged = 0,
  /// It executed, but its reply was lost or could not be merged.
  executed = 1,
  /// It got the request and did not execute it, or its `execute` failed; see the cause.
  failed = 2,
  /// It provably never got the request: the request was never sent, or was refused on arrival.
  not_reached = 3,
  /// Its state cannot be known: the path to it suffered a death, a break or a deadline.
  unknown = 4,
  /// It was not addressed: the broadcast was for other members.
  excluded = 5,
  /// It was not settled when the result was given out (`bcast_options::until`); `bcast_result::rest` tells
  /// more. It has no cause.
  pending = 6,
};

/// The step in which something went wrong.
enum class phase : std::uint8_t {
  none = 0,
  /// The member was known to be dead before anything was sent.
  liveness = 1,
  /// The member refused the request on arrival, before any hook: unknown group or service, busy, wrong
  /// parent, version, undecodable bytes.
  admission = 2,
  prepare = 3,
  bulk = 4,
  execute = 5,
  /// Its reply was too large or could not be decoded, or `finish` failed.
  reply = 6,
  /// The connection to it broke, or it did not answer in time.
  delivery = 7,
};

std::string_view to_string(member_state state) noexcept;
std::string_view to_string(phase p) noexcept;

/// The reason why members are in a state other than `merged`: what happened, in which step, and which member
/// noticed it. Where an account has more causes than fit it, the last one stands for all others. Its error is
/// `incomplete` and its step `none`, unless they agree.
struct cause {
  phase where = phase::none;
  error what;
  /// The rank of the member that noticed.
  std::uint32_t reporter = 0;
  friend bool operator==(const cause&, const cause&) = default;
};

/// A run of members that are in one state for one reason.
struct member_report {
  rank_range members;
  member_state state = member_state::merged;
  /// An index into `outcome::causes()`; 0 for `merged`.
  std::uint16_t cause_index = 0;
  friend bool operator==(const member_report&, const member_report&) = default;
};

/// Members that took part in a broadcast to the living and see a different set of live members than the root.
/// Views differ for moments after every death.
struct dissent {
  std::uint32_t members = 0;
  /// The rank of one of them.
  std::uint32_t first = 0;
  friend bool operator==(const dissent&, const dissent&) = default;
};

/// The exact account of a broadcast: every rank has one state. A clean outcome (all addressed members
/// executed and are merged) of a whole group is a single number and allocates nothing.
class outcome {
 public:
  outcome() = default;
  explicit outcome(std::uint32_t members) noexcept : members_(members) {}
  /// Makes an outcome. `reports` must be sorted, must touch one another and must cover all members;
  /// `causes[0]` must be the empty cause.
  outcome(std::uint32_t members, std::vector<member_report> reports, std::vector<cause> causes);

  /// Outcomes travel (docs/wire.md). One that does not account for every member once is malformed.
  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(members_, dissent_, reports_, causes_);
    if constexpr (Archive::decoding) clean_ = is_clean(reports_);
  }
  static constexpr std::size_t wire_min_size = 20;
  friend bool wire_valid(const outcome& o) noexcept { return o.is_whole(); }

  std::uint32_t members() const noexcept { return members_; }
  bool clean() const noexcept { return clean_; }

  member_state state(std::uint32_t rank) const noexcept;
  /// The cause of a member's state; empty if the member is merged.
  const cause& why(std::uint32_t rank) const noexcept;
  std::uint32_t count(member_state state) const noexcept;

  /// All members that executed, merged or not.
  rank_set executed() const;
  rank_set merged() const { return in(member_state::merged); }
  rank_set failed() const { return in(member_state::failed); }
  rank_set not_reached() const { return in(member_state::not_reached); }
  rank_set unknown() const { return in(member_state::unknown); }
  rank_set pending() const { return in(member_state::pending); }
  rank_set in(member_state state) const;

  const dissent& dissenting() const noexcept { return dissent_; }
  void set_dissent(const dissent& d) noexcept { dissent_ = d; }

  /// One entry per run of members that share state and cause; empty if the outcome is clean and for the whole
  /// group.
  const std::vector<member_report>& reports() const noexcept { return reports_; }
  const std::vector<cause>& causes() const noexcept { return causes_; }

 private:
  static bool is_clean(const std::vector<member_report>& reports) noexcept;
  bool is_whole() const noexcept;
  const member_report* find(std::uint32_t rank) const noexcept;

  std::uint32_t members_ = 0;
  bool clean_ = true;
  dissent dissent_;
  std::vector<member_report> reports_;
  std::vector<cause> causes_;
};

/// Describes an outcome for people: "14 of 16 executed and merged; unknown: 5-6 (delivery: connection_lost:
/// ..., says rank 4)".
std::string describe(const outcome& o);
/// Like `describe(o)`, with node ids instead of ranks.
std::string describe(const outcome& o, const membership& members);

}  // namespace scoll
