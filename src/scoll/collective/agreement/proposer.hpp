#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/collective/agree.hpp"
#include "scoll/collective/agreement/answers.hpp"
#include "scoll/collective/agreement/ballot.hpp"
#include "scoll/coro/result.hpp"

namespace scoll::detail {

/// A member that tries to bring one instance to its decision. It reads no clock and sends nothing: its owner
/// carries out the step that it names, and tells it the answers.
///
/// ```text
///            ┌──────────── again: a higher ballot ────────────┐
///   collect ─┴─► everybody contributed or is given up, quorum ─► accept ─► quorum ─► decided
///       └─ somebody knows the outcome ──────────────────────────────────────────────────▲
/// ```
///
/// The contributions of earlier collects are kept, and a later collect names the members that they are from,
/// so each member is merged once. A member is given up if it is held dead. Where a majority decides, it is
/// also given up if it could not be reached twice in a row; survivors wait for whoever nobody holds dead,
/// because two sides that do not reach each other could both decide. A member that is given up is among the
/// failed, unless it has contributed before.
class agreement_proposer {
 public:
  agreement_proposer(std::uint32_t members, std::uint32_t rank, quorum_rule rule, merge_values merge);

  /// The next action of the owner.
  enum class step : std::uint8_t {
    collect,       ///< with `next_ballot`, after a pause
    collect_more,  ///< from `missing`, with the same ballot: nothing has been heard of them
    accept,        ///< ask for votes for `proposed`, under the same ballot
    accept_more,   ///< from `missing`: nothing has been heard of them
    decided,       ///< `proposed` is the outcome
    yield,         ///< another proposer is at work, and this one stops
    no_quorum,     ///< too many members are given up
    stale,         ///< members have forgotten the instance
    failed,        ///< the values cannot be merged; see `failure`
  };

  /// Begins a collect under a ballot above `promised`, which is this member's own promise, and above all that
  /// this proposer has heard of.
  const ballot& next_ballot(const ballot& promised);
  const ballot& current() const noexcept { return current_; }
  /// The members whose contribution this proposer holds already.
  const rank_set& held() const noexcept { return held_; }

  /// Takes what members answered to the collect or the accept under the current ballot. `heard` are the
  /// members that answered in any way, `asked` those that were asked, `dead` those held dead now.
  step after_collect(const agreement_answers& answers, const rank_set& asked, const rank_set& heard,
                     const rank_set& dead);
  step after_accept(const agreement_answers& answers, const rank_set& asked, const rank_set& heard,
                    const rank_set& dead);

  /// The members that are to be asked once more.
  const rank_set& missing() const noexcept { return missing_; }
  /// The proposal that is put to the vote, or decided.
  const proposal& proposed() const noexcept { return proposed_; }
  /// True if `proposed` is this proposer's own, rather than taken over from another. For a shrink the owner
  /// then names the new group, once, before it asks for votes.
  bool own_proposal() const noexcept { return own_proposal_; }
  void name_group(std::uint64_t creator, std::uint64_t incarnation, std::uint64_t counter,
                  std::span<const std::byte> digest);
  const error& failure() const noexcept { return failure_; }
  /// The members that have voted under the current ballot.
  const rank_set& voters() const noexcept { return voters_; }
  /// The members that the proposer has given up.
  rank_set given_up(const rank_set& dead) const;
  /// True if members outside those given up have not contributed yet.
  bool waits(const rank_set& dead) const { return !(everybody() - held_ - given_up(dead)).empty(); }

  /// Appends all that tells this state from others, for checks that visit every state.
  void describe_to(std::vector<std::uint64_t>& out) const;

 private:
  rank_set everybody() const { return rank_set::all(members_); }
  bool take(const agreement_answers& answers, const rank_set& asked, const rank_set& heard);
  void hold(const contribution& part);
  bool ask_again(const rank_set& dead);
  step give_way(const rank_set& dead) const;
  step retry(const rank_set& dead);
  bool can_decide(const rank_set& without) const;
  step propose();
  proposal own() const;
  void begin_to_ask();

  std::uint32_t members_;
  std::uint32_t rank_;
  quorum_rule rule_;
  merge_values merge_;
  std::uint32_t highest_round_ = 0;
  ballot current_;
  ballot overtaken_by_;
  bool again_ = false;  // members that were not reached have been asked a second time
  rank_set voters_;
  rank_set missing_;
  rank_set lost_;  // not reached twice in a row
  rank_set held_;
  std::vector<std::byte> merged_;
  accepted_proposal accepted_;  // the highest one that voters of the current ballot have accepted
  std::uint32_t forgotten_ = 0;
  proposal proposed_;
  bool own_proposal_ = false;
  error failure_;
};

}  // namespace scoll::detail
