#include "scoll/collective/operation/condition.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/reply_parts.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/detail/addressees.hpp"

namespace scoll::detail {
namespace {

error why_no_quorum(std::uint32_t needed, std::uint32_t there) {
  if (needed != 0 && needed <= there) return {};
  return make_error(errc::invalid_argument, "a quorum of {} among {} members", needed, there);
}

}  // namespace

error why_no_condition(const end_condition& until, const addressees& to) {
  if (until.what() == end_condition::kind::members) return why_no_quorum(until.members(), to.size());
  if (until.sets().empty()) return {errc::invalid_argument, "no set of members for a quorum"};
  const rank_set all = rank_set::all(to.group->members->size());
  const rank_set addressed = to.subset != nullptr ? to.subset->ranks() : all;
  for (const quorum_set& set : until.sets()) {
    if (const error why = why_no_quorum(set.members, (set.ranks & addressed).size())) return why;
  }
  return {};
}

broadcast_condition::broadcast_condition(operation& op, const bcast_options& options)
    : op_(op), until_(options.until), stragglers_(options.rest) {}

broadcast_condition::prospect broadcast_condition::prospect_of(const tally& t) noexcept {
  if (t.merged >= t.needed) return prospect::holds;
  return t.merged + t.open >= t.needed ? prospect::open : prospect::cannot;
}

broadcast_condition::tally broadcast_condition::counted() const {
  if (until_.what() == end_condition::kind::sets) return counted_in_sets(op_.outcome_so_far());
  tally t{0, op_.subject_.members, until_.members()};
  for (const member_report& run : op_.outcome_.runs()) {
    const bool counts = run.state == member_state::merged ||
                        (run.state == member_state::executed &&
                         SCOLL_MUTANT(quorum_of_executed, "members that are not merged count for a quorum"));
    t.open -= run.members.size();
    t.merged += counts ? run.members.size() : 0;
  }
  for (const operation_child& c : op_.children_.all()) {
    if (!c.clean) continue;
    visit_unsettled(op_.subject_, c, [&](std::uint32_t first, std::uint32_t last) {
      t.open -= last - first;
      t.merged += last - first;
    });
  }
  return t;
}

/// The set with the worst prospect.
broadcast_condition::tally broadcast_condition::counted_in_sets(const outcome& account) const {
  const rank_set merged = account.merged(), open = account.pending();
  tally worst;
  for (const quorum_set& set : until_.sets()) {
    const tally t{(merged & set.ranks).size(), (open & set.ranks).size(), set.members};
    const auto rank_of = [](const tally& of) {  // holds, then open, then cannot
      constexpr int places[]{1, 0, 2};
      return places[static_cast<std::size_t>(prospect_of(of))];
    };
    if (worst.needed == 0 || rank_of(t) > rank_of(worst)) worst = t;
  }
  return worst;
}

bool broadcast_condition::is_decided() {
  return !given_ && !op_.out_of_time() && prospect_of(counted()) != prospect::open;
}

status broadcast_condition::status_of(const tally& t) const {
  if (prospect_of(t) == prospect::holds && op_.values_.merged() != nullptr) return {};
  const auto causes = op_.outcome_.causes();
  const cause& last = causes.back();
  return make_error(errc::incomplete, "{} merged and {} pending of {} needed: {}: {}", t.merged, t.open,
                    t.needed, to_string(last.where), describe(last.what));
}

task<void> broadcast_condition::give_out() {
  if (op_.table().finish.suspends) co_await op_.finish();
  op_.finish_now();
  if (op_.out_of_time() && op_.values_.merged() == nullptr) co_return;
  why_ = status_of(counted());
  account_ = op_.outcome_so_far();
  given_ = true;
  if (!SCOLL_MUTANT(quorum_value_shared, "what comes later is merged into the value that was given out"))
    op_.values_.give_out();
  op_.wake_caller();
  if (stragglers_ != stragglers::abort || op_.all_settled()) co_return;
  op_.end_by(end_cause::given, {errc::cancelled, "the broadcast has ended: its condition is decided"});
}

void broadcast_condition::end(const outcome& account) {
  rest_->account = account;
  rest_->ended.set();
}

}  // namespace scoll::detail
