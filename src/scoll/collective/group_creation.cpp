#include <algorithm>
#include <utility>

#include "scoll/collective/admissions.hpp"
#include "scoll/collective/called.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/journal.hpp"

// This file makes groups: those that are created on all members at once, those that each member hears of with
// its first request, and those that the service's own hook names.
namespace scoll::detail {
namespace {

/// The reason why a creation cannot travel.
error why_too_large(const group_state& group, bool delayed) {
  if (const std::size_t size = membership_bytes(*group.members); size > max_pulled_membership_bytes) {
    return make_error(errc::too_large, "a membership of {} members takes {} bytes: at most {} are pulled",
                      group.members->size(), size, max_pulled_membership_bytes);
  }
  const std::size_t room = delayed ? max_subset_bytes : max_collective_payload_bytes - max_statement_bytes;
  const std::size_t size = group.inline_only ? creation_bytes(group.terms(), *group.members) : 0;
  if (size <= room) return {};
  return make_error(errc::too_large, "a creation with {} members takes {} bytes: at most {} fit",
                    group.members->size(), size, room);
}

error why_incomplete(const group_state& group, const outcome& created) {
  const cause& first = created.causes().size() > 1 ? created.causes()[1] : created.causes()[0];
  const std::uint32_t missing = group.members->size() - created.count(member_state::merged);
  return make_error(first.what.code(), "{}{} of {} members did not join: {}: {}", name_before(group), missing,
                    group.members->size(), to_string(first.where), first.what.text());
}

}  // namespace

error engine::check_new_group(const membership& members, service_id service,
                              const group_options& options) const {
  if (!members.rank_of(options_.id))
    return make_error(errc::not_member, "node {} cannot be root of a group it is not in", options_.id);
  if (find_service(service) == nullptr) {
    return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                      static_cast<std::uint32_t>(service));
  }
  if (!options.name.valid()) return no_such_name();
  if (options.populate == populate::delayed && options.lifetime == lifetime::members) {
    return {errc::invalid_argument,
            "a delayed group ends with its creator: `settle` makes one that outlives it"};
  }
  if (!options.within) return {};
  const auto outer = find_outer(*options.within);
  if (outer == nullptr)
    return {errc::unknown_group, "this node does not hold the outer group of the new one"};
  if (const error* const revoked = revoke_of(*outer)) return *revoked;
  if (lies_within(members, *options.within)) return {};
  return {errc::not_member, "the new group has a member that its outer group does not have"};
}

task<result<std::shared_ptr<group_state>>> engine::create_group(membership_ptr members, service_id service,
                                                                group_options options) {
  if (const error why = check_new_group(*members, service, options)) co_return why;
  const std::uint32_t rank = *members->rank_of(options_.id);
  const group_id id{options_.id, options_.incarnation, creations_.begin(), members->digest()};
  auto group =
      groups_.make(id, std::move(members), rank, service, options.tree.value_or(options_.default_tree));
  group->name = options.name;
  group->inline_only = options.membership == membership_form::inline_only;
  group->bulk.use(options);
  group->within = options.within;
  enter_within(*group);
  const bool delayed = options.populate == populate::delayed;
  group->ends_with = options.lifetime;
  if (const error why = why_too_large(*group, delayed)) {
    creations_.settle(id.counter);
    groups_.forget(id);
    co_return why;
  }
  if (delayed) {
    group->holders = std::make_unique<holder_set>(group->members->size());
    group->holders->insert(rank);
    journal_->group_created(*group);
    co_return group;
  }
  const error why = co_await tell_all(group, options.deadline.left(executor_.now()));
  if (why) co_return why;
  co_return group;
}

/// Tells all members of a new group. If some do not join, those that did are told to forget it.
task<error> engine::tell_all(std::shared_ptr<group_state> group, nanoseconds time) {
  group->creating = true;
  const addressees all{group};
  const auto created = co_await run_on_group(all, collective_kind::create, group->tree, time);
  creations_.settle(group->id.counter);
  error why = created ? error{} : created.error();
  if (created && !created->clean()) why = why_incomplete(*group, *created);
  if (!why && group->forgotten) why = {errc::unknown_group, "the group was ended while it was created"};
  if (!why) {
    group->creating = false;
    journal_->group_created(*group);
    sweeper_->watch(*group);
    co_return why;
  }
  // Each member that may have the group is told directly, because the tree may be what is broken. A member
  // that cannot be told asks when its lease ends.
  if (created) (co_await run_on_group(all, collective_kind::forget, flat{}, time)).ignore();
  end_group(group, {group_fate::destroyed, options_.id, 0});
  co_return why;
}

task<result<std::shared_ptr<group_state>>> engine::settle_group(std::shared_ptr<group_state> group,
                                                                group_options options) {
  if (group == nullptr)
    co_return error(errc::invalid_argument, "the group is empty: take one from create_group or find_group");
  if (group->forgotten) co_return why_ended(*group);
  const bool settled = group->id.creator != 0 && group->holders == nullptr;
  if (settled) co_return group;
  options.populate = populate::immediate;
  if (!options.tree) options.tree = group->tree;
  if (options.name.empty()) options.name = group->name;
  if (!options.within) options.within = group->within;
  if (group->inline_only) options.membership = membership_form::inline_only;
  group->bulk.complete(options);
  auto created = co_await create_group(group->members, group->service, options);
  if (created) (*created)->bulk.know_hosts(group->bulk.hosts());
  co_return created;
}

task<result<std::shared_ptr<group_state>>> engine::map_group(service_id service, std::uint64_t id,
                                                             group_options options) {
  if (!options.name.valid()) co_return no_such_name();
  if (work_.closed()) co_return error(errc::closed, "this node is shutting down");
  const auto entry = find_service(service);
  if (entry == nullptr) {
    co_return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                         static_cast<std::uint32_t>(service));
  }
  const auto search = admissions_->ask(entry, id);
  deadline_stop limit{deadline(saturating_add(executor_.now(), options.deadline.left(executor_.now())))};
  const status searched = co_await search->done.wait(limit.token());
  if (!searched)
    co_return make_error(errc::deadline_exceeded, "the members hook of {} has not answered",
                         entry->table->name);
  if (search->failed) co_return search->failed;
  auto held = hold_named(search->members, service, id, false);
  if (!held) co_return held.error();
  if (options.tree) (*held)->tree = *options.tree;
  if (!options.name.empty()) (*held)->name = options.name;
  (*held)->bulk.use(options);
  co_return *held;
}

task<result<membership_ptr>> engine::find_members(group_id group, service_id service, node_id member) {
  if (work_.closed()) co_return error(errc::closed, "this node is shutting down");
  const auto entry = group.creator == 0 ? find_service(service) : nullptr;
  const bool by_hook = entry != nullptr && entry->table->members.call != nullptr;
  const auto search =
      by_hook ? admissions_->ask(entry, group.counter) : admissions_->ask_member(group, member);
  co_await search->done.wait();
  if (search->failed) co_return search->failed;
  if (search->members->digest() == group.digest) co_return search->members;
  co_return error(errc::membership_changed, "the service names other members of the group now");
}

}  // namespace scoll::detail
