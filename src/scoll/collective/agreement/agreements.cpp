#include "scoll/collective/agreement/agreements.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "scoll/collective/group_state.hpp"
#include "scoll/collective/name_nodes.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"

// This file has the caller's side of agreements, and the effects of verdicts and of ends of groups on them.
namespace scoll::detail {
namespace {

std::string title_of(const agreement_instance& i) {
  return i.space == agreement_space::shrink ? "the shrink" : fmt::format("agreement {}", i.number);
}

quorum_rule rule_of(const agree_options& options) noexcept {
  return options.quorum == agreement_quorum::survivors ? quorum_rule::survivors : quorum_rule::majority;
}

/// Names what an agreement without an outcome was waiting for, as far as this member knows.
error undecided(const group_state& group, const agreement_instance& i, const rank_set& dead) {
  if (!i.proposer || !i.proposer->waits(dead)) return {errc::undecided, "there was no outcome in time"};
  const rank_set missing =
      rank_set::all(group.members->size()) - i.proposer->held() - i.proposer->given_up(dead);
  return make_error(errc::undecided, "there was no outcome in time; {} of {} members had not called: {}",
                    missing.size(), group.members->size(), name_nodes(*group.members, missing));
}

}  // namespace

engine::agreements::agreements(engine& owner) : owner_(owner), service_(*this) {
  entry_ = std::make_shared<service_entry>();
  entry_->table = &table_of<agreement_service>;
  entry_->instance = &service_;
  entry_->survives_revoke = true;
  owner_.add_own_service(entry_).value();
}

error engine::agreements::why_not(const addressees& to, const agree_options& options) const {
  bcast_options as_broadcast;
  as_broadcast.dead = dead_members::try_others;
  if (to.subset != nullptr || to.invalid)
    return {errc::invalid_argument, "an agreement is for a whole group, not for a part of one"};
  if (to.group->id.creator == 0 || to.group->holders != nullptr) {
    return {errc::invalid_argument,
            "only a group that was created can agree: a member of this one may not hold it; use settle()"};
  }
  if (stopped_) return {errc::closed, "this node is shutting down"};
  if (const error why = owner_.why_not_now(to, as_broadcast)) return why;
  if (options.stop.stop_requested())
    return {errc::cancelled, "the stop token had fired before the agreement began"};
  if (options.deadline.over(owner_.executor_.now()))
    return {errc::deadline_exceeded, "no time was left before the agreement began"};
  return {};
}

/// Enters this member's value. Errors are certain: it has not been entered.
result<engine::agreements::instance_ptr> engine::agreements::enter(group_state& group, agreement_space space,
                                                                   std::uint64_t number,
                                                                   std::span<const std::byte> value,
                                                                   merge_values merge,
                                                                   const agree_options& options) {
  const auto found = open(group, space, number, rule_of(options));
  if (found.where == table::place::stale)
    return make_error(
        errc::stale, "agreement {} is closed, or its outcome is forgotten: numbers ascend, take a higher one",
        number);
  if (found.where == table::place::busy)
    return make_error(errc::busy,
                      "{} agreements of this group are open: no more begin before some have ended",
                      table::most_open);
  agreement_instance& i = *found.instance;
  if (i.rule != rule_of(options))
    return make_error(errc::invalid_argument,
                      "{} has begun with another quorum: all members must choose the same", title_of(i));
  if (i.merge != nullptr && i.merge != merge)
    return make_error(errc::invalid_argument,
                      "agreement {} has begun here with another type: use another number", number);
  if (!i.votes.called()) i.called_at = owner_.executor_.now();
  i.merge = merge;
  i.votes.call(value);
  return found.instance;
}

task<agreed_bytes> engine::agreements::agree(addressees to, std::uint64_t number,
                                             std::vector<std::byte> value, merge_values merge,
                                             agree_options options) {
  if (const error why = why_not(to, options)) co_return agreed_bytes(why);
  const std::shared_ptr<group_state> group = to.group;
  const result<instance_ptr> entered = enter(*group, agreement_space::agree, number, value, merge, options);
  if (!entered) co_return agreed_bytes(entered.error());
  agreed_bytes known = co_await take_part(group, *entered, options);
  co_return known;
}

/// Waits for the outcome of an instance that this member's value has been entered in.
task<agreed_bytes> engine::agreements::take_part(std::shared_ptr<group_state> group, instance_ptr i,
                                                 agree_options options) {
  const deadline until = options.deadline.from(owner_.executor_.now());
  if (i->callers++ == 0) i->failure = {};
  i->until = std::max(i->until, until.at);
  i->changed();
  if (!i->decided() && !std::exchange(i->driven, true)) owner_.scope_->spawn(drive(group, i));
  deadline_stop limit(until, options.stop);
  while (!i->decided() && !i->failure && !limit.stop_requested()) {
    const status waited = co_await i->change(limit.token());
    waited.ignore();
  }
  --i->callers;
  i->changed();
  const bool cancelled = limit.reason() == errc::cancelled;
  co_return outcome_of(*group, *i, cancelled ? error(errc::cancelled) : error());
}

agreed_bytes engine::agreements::outcome_of(const group_state& group, const agreement_instance& i,
                                            const error& otherwise) const {
  if (!i.decided()) {
    if (i.failure) return i.failure;
    return otherwise ? otherwise : undecided(group, i, dead_in(group));
  }
  agreed_bytes known;
  known.decided = true;
  known.value = i.votes.decision().value;
  known.failed = i.votes.decision().failed;
  if (known.failed.contains(group.self_rank))
    known.why =
        make_error(errc::excluded, "it was decided without node {}, which was held dead", owner_.options_.id);
  return known;
}

/// Wakes the instances that wait for a proposer on that node.
void engine::agreements::verdict_on(node_id node) {
  const bool dead = owner_.lives_.is_dead(node);
  owner_.groups_.each([&](const group_state& group) {
    if (group.agreements == nullptr) return;
    const auto rank = group.members->rank_of(node);
    if (!rank) return;
    each(group, [&](agreement_instance& i) {
      const bool awaited = i.heard_at ? i.heard_from == *rank : *rank < group.self_rank;
      if (dead && awaited) i.lost_at = owner_.executor_.now();
      i.changed();
    });
  });
}

void engine::agreements::end_group(const group_state& group, const error& why) noexcept {
  each(group, [&](agreement_instance& i) {
    if (i.decided()) {
      settle(i);
      return i.changed();  // ends the announcement
    }
    for (const std::uint64_t counter : i.taken) owner_.creations_.lose_sight(counter);
    i.taken.clear();
    i.end(why);
  });
  std::erase_if(voted_, [&](const auto& vote) { return vote.second == group.id; });
}

void engine::agreements::stop() noexcept {
  stopped_ = true;
  owner_.groups_.each(
      [this](const group_state& group) { end_group(group, {errc::closed, "this node is shutting down"}); });
}

}  // namespace scoll::detail
