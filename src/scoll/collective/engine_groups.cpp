#include <algorithm>

#include "scoll/collective/end_teller.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/lease.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

// How groups are created, found and removed.
namespace scoll::detail {

result<std::shared_ptr<group_state>> engine::group_for(const collective_head& head,
                                                       std::span<const std::byte> payload) {
  if (auto known = find_group(head.group)) return known;
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
  if (groups_.buried(head.group)) ++statistics_.late_creations;
  auto installed = groups_.install(head, payload);
  if (installed) leases_[head.group] = std::make_unique<lease>(*this, *installed);
  return installed;
}

void engine::forget_group(const group_id& id) noexcept {
  const group_id kept = id;  // `id` may lie in the group
  groups_.forget(kept);
  leases_.erase(kept);
}

/// Drops a group for good: a creation that arrives later is refused.
void engine::drop_group(const group_id& id) noexcept {
  const group_id kept = id;  // `id` may lie in the group
  groups_.drop(kept);
  leases_.erase(kept);
}

void engine::end_all_leases() noexcept {
  leases_.clear();
}

void engine::end_lease(const group_id& id, bool drop) noexcept {
  const group_id copy = id;  // `id` may lie in the lease
  const auto group = find_group(copy);
  leases_.erase(copy);
  if (drop && group != nullptr && group->tentative) drop_group(copy);
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
  const group_id id{options_.id, options_.incarnation, next_group_++, members->digest()};
  auto group = groups_.make(id, std::move(members), *rank, service, tree);
  group->creating = true;
  const nanoseconds time = options.deadline.left(executor_.now());  // for the creation, and again to undo it
  const addressees all{group};
  const auto created = co_await run_on_group(all, collective_kind::create, tree, time);
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
    drop_group(id);
    co_return why;
  }
  group->creating = false;
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
  // Members that were not told of its end still hold it, and know the operations of this root.
  group_state& group = **adopted;
  if (const auto counter = ends_->groups().take_back(group.id)) group.next_counter = *counter;
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
  const auto encode = kind == collective_kind::create ? &encode_membership : &encode_nothing;
  const begun b = begin(to, group_service_, kind, tree, options, encode, to.group->members.get());
  if (b.op == nullptr) co_return b.reason;
  co_await operation_awaiter(*b.op, {});
  outcome o = b.op->take_outcome();
  release(*b.op);
  co_return o;
}

}  // namespace scoll::detail
