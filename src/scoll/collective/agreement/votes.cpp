#include <algorithm>
#include <utility>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/context.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/executor.hpp"

// This file answers the requests of proposers.
namespace scoll::detail {
namespace {

rank_set only(std::uint32_t rank) {
  return {rank};
}

/// The bytes that a reply takes.
std::size_t size_of(const agreement_reply& reply) {
  wire::writer measure({});
  wire::encode(measure, reply);
  return measure.needed();
}

/// Leaves this node time to answer before its own time is over.
time_point leave_time(const bcast_context& c, time_point now) {
  const time_point end = c.remaining().from(now).at;
  return end - std::max<nanoseconds>((end - now) / 16, nanoseconds(0));
}

}  // namespace

group_agreements& engine::agreements::of(group_state& group) {
  if (group.agreements == nullptr) group.agreements = std::make_shared<group_agreements>();
  return *group.agreements;
}

engine::agreements::table::lookup engine::agreements::open(group_state& group, agreement_space space,
                                                           std::uint64_t number, quorum_rule rule) {
  group_agreements& all = of(group);
  if (space == agreement_space::agree) {
    return all.agree.open(number, [&](std::uint64_t n) {
      return std::make_shared<agreement_instance>(agreement_space::agree, n, rule);
    });
  }
  if (number != 0) return {nullptr, table::place::stale};
  if (all.shrink == nullptr) {
    all.shrink = std::make_shared<agreement_instance>(space, number, rule);
    all.shrink->merge = &merge_nothing;
  }
  return {all.shrink, table::place::found};
}

/// The instance of a proposer's request; null if this member takes no part, with the reason in `refusal`.
engine::agreements::instance_ptr engine::agreements::open_for(group_state& group,
                                                              const agreement_request& request,
                                                              std::uint32_t root,
                                                              agreement_answers& refusal) {
  const auto found = open(group, request.space, request.instance, request.rule);
  refusal.forgotten = found.where == table::place::stale;
  if (found.instance == nullptr) return nullptr;
  refusal.other_rule = found.instance->rule != request.rule;
  if (refusal.other_rule != 0) return nullptr;
  found.instance->heard_at = owner_.executor_.now();
  found.instance->heard_from = root;
  found.instance->lost_at.reset();
  return found.instance;
}

/// The answer waits until this member has called, or the time is nearly over: then the promise counts alone.
task<agreement_answers> engine::agreements::on_collect(std::shared_ptr<group_state> group,
                                                       const agreement_request& request,
                                                       bcast_context& context) {
  agreement_answers refusal;
  const instance_ptr i = open_for(*group, request, context.root_rank(), refusal);
  if (i == nullptr) co_return refusal;
  const ballot b{request.round, context.root_rank()};
  const bool promised = i->votes.promise(b);
  i->changed();
  if (promised) {
    deadline_stop limit(deadline(leave_time(context, owner_.executor_.now())), context.stop());
    ++i->collects_waiting;
    while (!i->votes.can_answer() && i->votes.promised() == b && !i->closed && !stopped_ &&
           !limit.stop_requested()) {
      const status waited = co_await i->change(limit.token());
      waited.ignore();
    }
    --i->collects_waiting;
    i->heard_at = owner_.executor_.now();
    if (context.stop().stop_requested()) i->lost_at = i->heard_at;
    i->changed();
  }
  if (i->closed) {
    refusal.forgotten = 1;
    co_return refusal;
  }
  co_return i->votes.answer_collect(b, group->self_rank, decoded(request.held));
}

agreement_answers engine::agreements::on_accept(group_state& group, const agreement_request& request,
                                                std::uint32_t root) {
  agreement_answers refusal;
  const instance_ptr i = open_for(group, request, root, refusal);
  if (i == nullptr) return refusal;
  const ballot b{request.round, root};
  const proposal what = decoded(*request.what);
  if (!makes_sense(group, request.space, what)) return refusal;
  if (i->votes.accept(b, what) && request.space == agreement_space::shrink) note_vote(group, *i);
  i->changed();
  return i->votes.answer_accept(b, group.self_rank);
}

/// The outcome is kept even by a member that has not called, so that it finds it when it calls.
agreement_answers engine::agreements::on_decided(group_state& group, const agreement_request& request,
                                                 std::uint32_t root) {
  agreement_answers refusal;
  if (const instance_ptr i = open_for(group, request, root, refusal))
    learn(group, *i, decoded(*request.what));
  agreement_answers told;
  told.voters = only(group.self_rank);
  return told;
}

void engine::agreements::learn(group_state& group, agreement_instance& i, const proposal& outcome) {
  if (i.decided() || i.closed) return;
  if (!makes_sense(group, i.space, outcome))
    return i.end({errc::malformed, "members have told an outcome that does not fit the group"});
  i.votes.decide(outcome);
  if (i.space == agreement_space::agree) {
    of(group).agree.note_decided(i.number);
  } else {
    settle(i, is_own(outcome) ? outcome.counter : 0);
    hold_shrunk(group, outcome);
  }
  i.changed();
}

void engine::agreements::condense(group_state& group, agreement_reply& reply) const {
  const auto& all = group.agreements;
  if (all == nullptr || reply.contributions.empty()) return;
  const instance_ptr i =
      reply.space == agreement_space::shrink ? all->shrink : all->agree.find(reply.instance);
  if (i != nullptr && i->merge != nullptr) {
    agreement_answers answers = taken_from(reply);
    std::vector<contribution> merged;
    for (contribution& part : answers.contributions) {
      if (!merged.empty() && i->merge(merged.back().value, part.value)) {
        merged.back().from = merged.back().from | part.from;
      } else {
        merged.push_back(std::move(part));
      }
    }
    answers.contributions = std::move(merged);
    put(reply, answers);
  }
  while (!reply.contributions.empty() && size_of(reply) > agreement_service::reply_capacity)
    reply.contributions.pop_back();
}

}  // namespace scoll::detail
