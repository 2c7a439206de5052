#include <algorithm>
#include <chrono>
#include <utility>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/name_nodes.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/operation_awaiter.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/error_format.hpp"

// This file decides when this node proposes, and carries the proposals out.
namespace scoll::detail {
namespace {

using namespace std::chrono_literals;
using step = agreement_proposer::step;

/// A member that has not heard a proposer for so long proposes itself.
constexpr nanoseconds patience = 1s;
/// The longest time that one collect waits for members that have not called. The next collect goes on.
constexpr nanoseconds longest_collect = 1s;
constexpr nanoseconds longest_pause = 500ms;
/// The most times that members which do not answer are told the outcome. They also find it when they ask.
constexpr unsigned most_announcements = 8;

/// The members that answered, if only to say that they have no room now.
rank_set heard_in(const outcome& o) {
  rank_set busy;
  for (const member_report& r : o.reports()) {
    if (o.causes()[r.cause_index].what == errc::busy) busy.append(r.members.first, r.members.last);
  }
  return busy | o.merged();
}

}  // namespace

rank_set engine::agreements::dead_in(const group_state& group) const {
  const rank_set all = rank_set::all(group.members->size());
  return all - owner_.living(group, all) - rank_set{group.self_rank};
}

bool engine::agreements::too_many_dead(const group_state& group, quorum_rule rule) const {
  const std::uint32_t n = group.members->size();
  const rank_set dead = dead_in(group);
  return !is_quorum(rule, n, rank_set::all(n) - dead, dead);
}

time_point engine::agreements::my_turn(const group_state& group, const agreement_instance& i) const {
  if (i.collects_waiting != 0) return never;
  const rank_set before = rank_set::all(group.self_rank) - dead_in(group);
  const nanoseconds stagger = before.size() * owner_.options_.rtt_estimate;
  if (i.lost_at) return *i.lost_at + stagger;
  if (i.heard_at) return *i.heard_at + patience + stagger;
  return before.empty() ? i.called_at : i.called_at + patience + stagger;
}

/// Drives an instance as long as a caller on this node waits for the outcome.
task<void> engine::agreements::drive(std::shared_ptr<group_state> group, instance_ptr i) {
  while (i->wanted() && !stopped_) {
    if (too_many_dead(*group, i->rule)) {
      const rank_set dead = dead_in(*group);
      i->end(make_error(errc::no_quorum, "{} of {} members are held dead: {}", dead.size(),
                        group->members->size(), name_nodes(*group->members, dead)));
      break;
    }
    const time_point turn = my_turn(*group, *i);
    if (turn <= owner_.executor_.now()) {
      co_await propose(group, i);
      continue;
    }
    deadline_stop limit{deadline(turn)};
    const status waited = co_await i->change(limit.token());
    waited.ignore();
  }
  i->driven = false;
}

/// Takes the steps that the proposer names, until there is an outcome or it is another proposer's turn.
task<void> engine::agreements::propose(std::shared_ptr<group_state> group, instance_ptr i) {
  if (!i->proposer) i->proposer.emplace(group->members->size(), group->self_rank, i->rule, i->merge);
  step next = step::collect;
  for (unsigned attempts = 0;;) {
    // An outcome counts even if no caller on this node waits for it any more.
    if (next != step::decided && (!i->wanted() || stopped_)) co_return;
    switch (next) {
      case step::collect:
        if (attempts++ != 0) co_await pause(i, attempts - 1);
        next = co_await collect(group, i, false);
        break;
      case step::collect_more: next = co_await collect(group, i, true); break;
      case step::accept: next = co_await accept(group, i, false); break;
      case step::accept_more: next = co_await accept(group, i, true); break;
      case step::decided:
        learn(*group, *i, i->proposer->proposed());
        // If the instance was closed under the vote, this member has no outcome to tell.
        if (i->decided()) owner_.scope_->spawn(announce(group, i));
        co_return;
      case step::yield: i->heard_at = owner_.executor_.now(); co_return;
      case step::no_quorum: co_return;  // the driver says so
      case step::stale: i->end({errc::stale, "other members have closed this agreement"}); co_return;
      case step::failed: i->end(i->proposer->failure()); co_return;
    }
  }
}

task<step> engine::agreements::collect(std::shared_ptr<group_state> group, instance_ptr i, bool again) {
  agreement_proposer& p = *i->proposer;
  if (!again) p.next_ballot(i->votes.promised());
  agreement_request request = request_for(*i, agreement_kind::collect);
  request.round = p.current().round;
  request.held = encoded(p.held());
  const rank_set all = rank_set::all(group->members->size());
  const rank_set whom = again ? p.missing() : all - p.given_up(dead_in(*group));
  const time_point now = owner_.executor_.now();
  const nanoseconds wait = std::min(longest_collect, deadline(i->until).remaining(now) / 4);
  const gathered g = co_await ask(group, request, whom, again, now + wait);
  if (!g.asked) co_return step::collect;
  co_return p.after_collect(g.answers, whom, g.heard, dead_in(*group));
}

task<step> engine::agreements::accept(std::shared_ptr<group_state> group, instance_ptr i, bool again) {
  agreement_proposer& p = *i->proposer;
  if (i->space == agreement_space::shrink && p.own_proposal() && !again) name_shrunk(*group, *i);
  agreement_request request = request_for(*i, agreement_kind::accept);
  request.round = p.current().round;
  request.what = encoded(p.proposed());
  const rank_set all = rank_set::all(group->members->size());
  const rank_set whom = again ? p.missing() : all - p.given_up(dead_in(*group));
  const gathered g = co_await ask(group, request, whom, again, owner_.executor_.now());
  if (!g.asked) co_return step::collect;
  co_return p.after_accept(g.answers, whom, g.heard, dead_in(*group));
}

agreement_request engine::agreements::request_for(const agreement_instance& i, agreement_kind kind) const {
  agreement_request request;
  request.kind = kind;
  request.space = i.space;
  request.rule = i.rule;
  request.instance = i.number;
  return request;
}

/// The time in which everybody can answer at once.
nanoseconds engine::agreements::round_trip(const addressees& to, const tree_spec& tree) const {
  tree_fault fault = tree_fault::none;
  const any_tree* const resolved = to.group->resolve(tree, to.subset, to.group->self_rank, fault);
  const std::uint32_t levels = resolved != nullptr ? resolved->subtree_levels(to.size(), 0) : 1;
  const node_options& o = owner_.options_;
  return levels * (o.rtt_estimate + o.level_margin) + o.rtt_estimate;
}

/// Asks members over the group's tree, or each directly. It takes at least the time in which everybody can
/// answer, and otherwise until `wait_until`. If this node has no room to ask, that says nothing of the members:
/// the proposer begins anew after a pause.
task<engine::agreements::gathered> engine::agreements::ask(std::shared_ptr<group_state> group,
                                                           const agreement_request& request, rank_set whom,
                                                           bool directly, time_point wait_until) {
  gathered g;
  const std::uint32_t n = group->members->size();
  addressees to{group};
  const rank_set asked = whom | rank_set{group->self_rank};
  if (asked.size() != n) {
    if (auto made = subset::make(asked, n)) to.subset = std::move(*made);
  }
  const tree_spec tree = directly ? tree_spec(flat{}) : group->tree;
  const time_point now = owner_.executor_.now();
  const deadline until(std::max(wait_until, now + round_trip(to, tree)));
  if (!owner_.hold_.open()) {
    const status released = co_await owner_.hold_.pass(until, {});
    if (!released) co_return g;
  }
  bcast_options options;
  options.deadline = until;
  options.dead = dead_members::try_others;
  const begun b = owner_.begin(to, entry_, collective_kind::broadcast, tree, options,
                               table_of<agreement_service>.encode_request, &request);
  if (b.op == nullptr) co_return g;
  g.asked = true;
  co_await operation_awaiter(*b.op, {});
  g.heard = heard_in(b.op->take_outcome());
  if (const void* const reply = b.op->value()) {
    g.answers = taken_from(*static_cast<const agreement_reply*>(reply));
    g.answers.voters = g.answers.voters & rank_set::all(n);
  }
  owner_.release(*b.op);
  co_return g;
}

/// Waits before a further attempt, each time twice as long. A change of the instance does not end it early
/// while somebody still waits for an outcome.
task<void> engine::agreements::pause(instance_ptr i, unsigned attempts) {
  const nanoseconds first = owner_.options_.rtt_estimate;
  const nanoseconds length = std::min(longest_pause, first * (1U << std::min(attempts - 1, 16U)));
  deadline_stop limit{deadline(owner_.executor_.now() + length)};
  while (i->wanted() && !stopped_ && !limit.stop_requested()) {
    const status waited = co_await i->change(limit.token());
    waited.ignore();
  }
}

/// Tells members the outcome. Returns the members that have heard it.
task<rank_set> engine::agreements::tell(std::shared_ptr<group_state> group, instance_ptr i, rank_set whom,
                                        bool directly) {
  agreement_request request = request_for(*i, agreement_kind::decided);
  request.what = encoded(i->votes.decision());
  const gathered g = co_await ask(group, request, whom, directly, owner_.executor_.now());
  co_return g.answers.voters;
}

/// Tells the outcome to all members that are not held dead. A member that is missed finds it when it asks.
task<void> engine::agreements::announce(std::shared_ptr<group_state> group, instance_ptr i) {
  const rank_set given_up = i->proposer->given_up({});
  rank_set untold = rank_set::all(group->members->size()) - rank_set{group->self_rank};
  nanoseconds wait = owner_.options_.rtt_estimate;
  for (unsigned times = 0; times != most_announcements && !stopped_ && !group->forgotten; ++times) {
    rank_set whom = untold - dead_in(*group);
    if (times == 0) whom = whom - given_up;
    if (!whom.empty()) {
      const rank_set heard = co_await tell(group, i, whom, times != 0);
      untold = untold - heard;
    }
    if (untold.empty()) break;
    if (times == 0) continue;
    deadline_stop limit{deadline(owner_.executor_.now() + wait)};
    while (!stopped_ && !group->forgotten && !limit.stop_requested()) {
      const status waited = co_await i->change(limit.token());
      waited.ignore();
    }
    wait *= 2;
  }
  i->told = (untold - i->votes.decision().failed).empty();
  if (i->told) settle(*i);
}

}  // namespace scoll::detail
