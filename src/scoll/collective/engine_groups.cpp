#include <algorithm>

#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/called.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/operation/operation_awaiter.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"

// This file adopts, finds and removes groups.
namespace scoll::detail {
namespace {

result<std::size_t> encode_forgets(const void* what, std::span<std::byte> into) noexcept {
  return encode_forget(*static_cast<const forget_request*>(what), into);
}

result<std::size_t> encode_nothing(const void*, std::span<std::byte>) noexcept {
  return std::size_t{0};
}

}  // namespace

std::shared_ptr<group_state> engine::find_group(const group_id& id) const {
  auto found = groups_.find(id);
  return found != nullptr && found->forgotten ? nullptr : found;
}

/// Ends a group and the groups within it on this node: their operations end, and creations that arrive later
/// are refused.
void engine::end_group(const std::shared_ptr<group_state>& group, const group_ending& how) {
  // NOLINTNEXTLINE(performance-unnecessary-copy-initialization): the caller's may lie in what ends here
  const std::shared_ptr<group_state> kept = group;
  kept->forgotten = true;
  end_operations(*kept);
  if (groups_.find(kept->id) != kept) return;
  const bool own = kept->id.creator == options_.id && kept->id.incarnation == options_.incarnation;
  if (own && kept->holders != nullptr) creations_.settle(kept->id.counter);  // nobody may join any more
  if (kept->id.creator == 0) windows_.keep(*kept);
  const std::vector<group_id> inner = std::exchange(kept->inner, {});
  const group_ending revoked = revokes_->ending_of(kept->id);
  journal_->group_ended(*kept, revoked ? revoked : how);
  groups_.drop(kept->id, revoked ? revoked : how);
  records_->end_group(kept->id);
  revokes_->dropped(kept->id);
  if (SCOLL_MUTANT(inner_outlives, "a group stays when the one ends within which it is")) return;
  for (const group_id& id : inner) {
    if (const auto within = groups_.find(id)) end_group(within, how);
  }
}

/// Ends the broadcasts to a group that run here, its agreements, and the calls that were made through it.
void engine::end_operations(group_state& group) noexcept {
  const error why(errc::unknown_group, "the group has been destroyed");
  agreements_->end_group(group, why);
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    if (op->subject_.head.is_broadcast() && op->subject_.group.get() == &group)
      op->end_by(end_cause::group_ended, why);
  }
  if (SCOLL_MUTANT(group_end_leaves_calls, "calls made through a group go on when it ends")) return;
  while (!group.calls.empty()) group.calls.pop_front().end_call(why);
}

void engine::start_sweeping() {
  groups_.each([this](const group_state& group) { sweeper_->watch(group); });
}

void engine::stop_sweeping() noexcept {
  sweeper_->stop();
}

result<std::shared_ptr<group_state>> engine::adopt_group(membership_ptr members, service_id service,
                                                         std::uint64_t id, const group_options& options) {
  if (!options.name.valid()) return no_such_name();
  if (members->rank_of(options_.id) && find_service(service) == nullptr) {
    return make_error(errc::unknown_service, "service {:#06x} is not registered on this node",
                      static_cast<std::uint32_t>(service));
  }
  const group_id name = out_of_band_group(service, id, members->digest());
  if (const error why = revokes_->why_not_held(name)) {
    learn_members(name, std::move(members));
    return why;
  }
  auto adopted = groups_.adopt(std::move(members), service, id, options.tree.value_or(options_.default_tree));
  if (!adopted) return adopted;
  (*adopted)->name = options.name;
  (*adopted)->bulk.use(options);
  windows_.give_back(**adopted);
  journal_->group_created(**adopted);
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
  const encode_function encode = kind == collective_kind::forget ? &encode_forgets : &encode_nothing;
  const begun b = begin(to, group_service_, kind, tree, options, encode, &forgets);
  if (b.op == nullptr) co_return b.reason;
  co_await operation_awaiter(*b.op, {});
  outcome o = b.op->take_outcome();
  release(*b.op);
  co_return o;
}

}  // namespace scoll::detail
