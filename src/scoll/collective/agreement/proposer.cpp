#include "scoll/collective/agreement/proposer.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

agreement_proposer::agreement_proposer(std::uint32_t members, std::uint32_t rank, quorum_rule rule,
                                       merge_values merge)
    : members_(members), rank_(rank), rule_(rule), merge_(merge) {}

const ballot& agreement_proposer::next_ballot(const ballot& promised) {
  highest_round_ = std::max(highest_round_, promised.round) + 1;
  current_ = {highest_round_, rank_};
  begin_to_ask();
  overtaken_by_ = {};
  forgotten_ = 0;
  proposed_ = {};
  own_proposal_ = false;
  failure_ = {};
  return current_;
}

rank_set agreement_proposer::given_up(const rank_set& dead) const {
  const bool majority =
      rule_ == quorum_rule::majority ||
      SCOLL_MUTANT(agree_survivors_lost, "survivors decide without members that were not reached");
  return (majority ? dead | lost_ : dead) - rank_set{rank_};
}

void agreement_proposer::begin_to_ask() {
  again_ = false;
  voters_ = {};
  missing_ = {};
  accepted_ = {};
}

void agreement_proposer::name_group(std::uint64_t creator, std::uint64_t incarnation, std::uint64_t counter,
                                    std::span<const std::byte> digest) {
  proposed_.value.assign(digest.begin(), digest.end());
  proposed_.creator = creator;
  proposed_.incarnation = incarnation;
  proposed_.counter = counter;
}

agreement_proposer::step agreement_proposer::after_collect(const agreement_answers& answers,
                                                           const rank_set& asked, const rank_set& heard,
                                                           const rank_set& dead) {
  if (take(answers, asked, heard)) return step::decided;
  if (failure_) return step::failed;
  if (overtaken_by_ > current_) return give_way(dead);
  if (is_quorum(rule_, members_, voters_, given_up(dead)) && (!accepted_.at.none() || !waits(dead)))
    return propose();
  if (ask_again(dead)) return step::collect_more;
  return retry(dead);
}

agreement_proposer::step agreement_proposer::after_accept(const agreement_answers& answers,
                                                          const rank_set& asked, const rank_set& heard,
                                                          const rank_set& dead) {
  if (take(answers, asked, heard)) return step::decided;
  if (is_quorum(rule_, members_, voters_, given_up(dead))) return step::decided;
  if (failure_) return step::failed;
  if (overtaken_by_ > current_) return give_way(dead);
  if (ask_again(dead)) return step::accept_more;
  return retry(dead);
}

/// Returns true if the outcome is known now.
bool agreement_proposer::take(const agreement_answers& answers, const rank_set& asked,
                              const rank_set& heard) {
  missing_ = asked - heard;
  lost_ = again_ ? lost_ | missing_ : lost_ - heard;
  voters_ = voters_ | answers.voters;
  for (const contribution& part : answers.contributions) hold(part);
  if (answers.accepted.at > accepted_.at) accepted_ = answers.accepted;
  overtaken_by_ = std::max(overtaken_by_, answers.overtaken_by);
  highest_round_ = std::max(highest_round_, overtaken_by_.round);
  forgotten_ += answers.forgotten;
  if (answers.other_rule != 0)
    failure_ = {errc::invalid_argument,
                "other members use another quorum for this agreement: all must choose the same"};
  if (!answers.decided) return false;
  proposed_ = *answers.decided;
  own_proposal_ = false;
  return true;
}

void agreement_proposer::hold(const contribution& part) {
  if (part.from.empty() || !(part.from & held_).empty()) return;
  if (held_.empty()) {
    merged_ = part.value;
  } else if (const status merged = merge_(merged_, part.value); !merged) {
    failure_ = merged.error();
    return;
  }
  held_ = held_ | part.from;
}

/// The members of whom nothing has been heard are asked once more, now that the rest is known.
bool agreement_proposer::ask_again(const rank_set& dead) {
  missing_ = missing_ - dead;
  return !std::exchange(again_, true) && !missing_.empty();
}

agreement_proposer::step agreement_proposer::give_way(const rank_set& dead) const {
  const bool lives = !given_up(dead).contains(overtaken_by_.rank);
  return overtaken_by_.rank < rank_ && lives ? step::yield : step::collect;
}

/// Finds the step after a ballot without a decision. If too few members are left, members that were not
/// reached get another chance, because no verdict calls them dead.
agreement_proposer::step agreement_proposer::retry(const rank_set& dead) {
  if (!can_decide(dead)) return step::no_quorum;
  if (forgotten_ != 0) return step::stale;
  if (!can_decide(given_up(dead))) lost_ = {};
  return step::collect;
}

bool agreement_proposer::can_decide(const rank_set& without) const {
  return is_quorum(rule_, members_, everybody() - (without - rank_set{rank_}), without - rank_set{rank_});
}

agreement_proposer::step agreement_proposer::propose() {
  own_proposal_ = accepted_.at.none() ||
                  SCOLL_MUTANT(agree_accepted_ignored, "a proposer ignores what members have voted for");
  proposed_ = own_proposal_ ? own() : std::move(accepted_.what);
  begin_to_ask();
  return step::accept;
}

proposal agreement_proposer::own() const {
  rank_set merged = held_;
  if (SCOLL_MUTANT(agree_fails_contributor, "a member whose value is merged counts as failed") &&
      held_.size() > 1)
    merged = held_ - rank_set{held_.ranges().back().last - 1};
  return {merged_, everybody() - merged};
}

void agreement_proposer::describe_to(std::vector<std::uint64_t>& out) const {
  out.insert(out.end(), {highest_round_, again_, forgotten_, own_proposal_});
  for (const ballot* b : {&current_, &overtaken_by_}) detail::describe_to(out, *b);
  for (const rank_set* ranks : {&voters_, &missing_, &lost_, &held_}) detail::describe_to(out, *ranks);
  detail::describe_to(out, merged_);
  detail::describe_to(out, accepted_);
  detail::describe_to(out, proposed_);
}

}  // namespace scoll::detail
