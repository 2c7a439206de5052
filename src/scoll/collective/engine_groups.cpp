#include <algorithm>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

// How groups are created, found and removed.
namespace scoll::detail {
namespace {

result<std::size_t> encode_forgets(const void* what, std::span<std::byte> into) noexcept {
  return encode_forget(*static_cast<const forget_request*>(what), into);
}

}  // namespace

result<std::shared_ptr<group_state>> engine::group_for(const collective_head& head,
                                                       std::span<const std::byte> payload) {
  if (auto known = groups_.find(head.group)) {
    const bool ended = known->forgotten && static_cast<collective_kind>(head.kind) != collective_kind::forget;
    if (!ended) return known;
    return make_error(errc::unknown_group, "node {} has ended group {} of node {}", options_.id,
                      head.group.counter, head.group.creator);
  }
  if (SCOLL_MUTANT(adopted_digest_unchecked, "any membership under the id of an adopted group is taken")) {
    std::shared_ptr<group_state> taken;
    groups_.each([&](const group_state& group) {
      if (group.id.creator == 0 && head.group.creator == 0 && group.id.counter == head.group.counter)
        taken = groups_.find(group.id);
    });
    if (taken != nullptr) return taken;
  }
  if (groups_.holds_out_of_band(head.group)) {
    return make_error(errc::membership_changed,
                      "node {} has another membership for group {} of service {:#06x}", options_.id,
                      head.group.counter, head.service);
  }
  if (static_cast<collective_kind>(head.kind) != collective_kind::create) {
    return make_error(errc::unknown_group, "node {} does not hold group {} of node {}", options_.id,
                      head.group.counter, head.group.creator);
  }
  if (groups_.refusal_of(head.group)) ++statistics_.late_creations;
  auto installed = groups_.install(head, payload);
  if (installed) sweeper_->watch(**installed);
  return installed;
}

std::shared_ptr<group_state> engine::find_group(const group_id& id) const {
  auto found = groups_.find(id);
  return found != nullptr && found->forgotten ? nullptr : found;
}

/// Ends a group here: its operations end, and a creation that arrives later is refused. So do the groups
/// within it.
void engine::end_group(const std::shared_ptr<group_state>& group, const group_ending& how) {
  const std::shared_ptr<group_state> kept = group;  // the caller's may lie in what ends here
  kept->forgotten = true;
  end_operations(*kept);
  if (groups_.find(kept->id) != kept) return;
  if (kept->id.creator == 0) adopted_counter_ = std::max(adopted_counter_, kept->next_counter);
  const std::vector<group_id> inner = std::exchange(kept->inner, {});
  groups_.drop(kept->id, how);
  for (const group_id& id : inner) {
    if (const auto within = groups_.find(id)) end_group(within, how);
  }
}

/// Ends the broadcasts to a group that run here, and its agreements.
void engine::end_operations(const group_state& group) noexcept {
  agreements_->end_group(group, {errc::unknown_group, "the group has been destroyed"});
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->subject_.head.is_broadcast() && op->subject_.group.get() == &group)
      op->end_by(end_cause::cancelled);
  }
}

void engine::start_sweeping() {
  groups_.each([this](const group_state& group) { sweeper_->watch(group); });
}

void engine::stop_sweeping() noexcept {
  sweeper_->stop();
}

task<result<std::shared_ptr<group_state>>> engine::create_group(membership_ptr members, service_id service,
                                                                group_options options) {
  const auto rank = members->rank_of(options_.id);
  if (!rank)
    co_return make_error(errc::not_member, "node {} cannot be root of a group it is not in", options_.id);
  if (find_service(service) == nullptr) {
    co_return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                         static_cast<std::uint32_t>(service));
  }
  const std::size_t size = membership_bytes(*members);
  if (size > max_membership_bytes) {
    co_return make_error(errc::too_large, "a membership of {} members takes {} bytes: at most {} fit",
                         members->size(), size, max_membership_bytes);
  }
  const tree_spec tree = options.tree.value_or(options_.default_tree);
  const group_id id{options_.id, options_.incarnation, creations_.begin(), members->digest()};
  auto group = groups_.make(id, std::move(members), *rank, service, tree);
  group->creating = true;
  group->ends_with = options.lifetime;
  const nanoseconds time = options.deadline.left(executor_.now());  // for the creation, and again to undo it
  const addressees all{group};
  const auto created = co_await run_on_group(all, collective_kind::create, tree, time);
  creations_.settle(id.counter);
  error why = created ? error{} : created.error();
  if (created && !created->clean()) {
    const cause& first = created->causes().size() > 1 ? created->causes()[1] : created->causes()[0];
    const std::uint32_t missing = group->members->size() - created->count(member_state::merged);
    why = make_error(first.what.code(), "{} of {} members did not join: {}: {}", missing,
                     group->members->size(), to_string(first.where), first.what.text());
  }
  if (why) {
    // Each member that may have the group is told directly, because the tree may be what is broken. A member
    // that cannot be told asks when its lease ends.
    if (created) (co_await run_on_group(all, collective_kind::forget, flat{}, time)).ignore();
    end_group(group, {group_fate::destroyed, options_.id, 0});
    co_return why;
  }
  group->creating = false;
  sweeper_->watch(*group);
  co_return group;
}

result<std::shared_ptr<group_state>> engine::adopt_group(membership_ptr members, service_id service,
                                                         std::uint64_t id, const group_options& options) {
  if (members->rank_of(options_.id) && find_service(service) == nullptr) {
    return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                      static_cast<std::uint32_t>(service));
  }
  auto adopted = groups_.adopt(std::move(members), service, id, options.tree.value_or(options_.default_tree));
  if (!adopted) return adopted;
  (*adopted)->next_counter = adopted_counter_;  // others may know operations of this root
  return adopted;
}

/// Runs a broadcast of the library's own and gives its outcome.
task<result<outcome>> engine::run_on_group(const addressees& to, collective_kind kind, tree_spec tree,
                                           time_limit deadline) {
  bcast_options options;
  options.deadline = deadline;
  if (!hold_.open()) {
    const scoll::deadline until = deadline.from(executor_.now());
    if (const status released = co_await hold_.pass(until, {}); !released) co_return released.error();
    options.deadline = until;
  }
  options.dead = kind == collective_kind::forget ? dead_members::try_others : dead_members::refuse;
  const forget_request forgets{to.group->ends_with, statement_for(to.group->id)};
  const begun b =
      kind == collective_kind::create
          ? begin(to, group_service_, kind, tree, options, &encode_membership, to.group->members.get())
          : begin(to, group_service_, kind, tree, options, &encode_forgets, &forgets);
  if (b.op == nullptr) co_return b.reason;
  co_await operation_awaiter(*b.op, {});
  outcome o = b.op->take_outcome();
  release(*b.op);
  co_return o;
}

}  // namespace scoll::detail
