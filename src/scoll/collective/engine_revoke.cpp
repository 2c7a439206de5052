#include <algorithm>
#include <memory>

#include "scoll/collective/admission_request.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"
#include "transport/session/session.hpp"

// This file ends the operations, calls and requests of this node that a revoke covers.
namespace scoll::detail {

task<result<revoke_report>> engine::revoke_group(std::shared_ptr<group_state> group, std::uint32_t reason,
                                                 std::string_view text) {
  executor_.expect_own_thread();
  notice_head notice = revokes_->notice_of(*group, notice_kind::revoked);
  notice.reason = reason;
  notice.say(text);
  return revokes_->revoke(std::move(group), notice);
}

bool engine::on_notice(transport::session& from, std::span<const std::byte> head) noexcept {
  return revokes_->hear(from, head);
}

void engine::hear_of_revoke(const std::shared_ptr<group_state>& group, const error& why, node_id from) {
  revokes_->hear_refusal(group, why, from);
}

void engine::on_session_begun(transport::session& peer) noexcept {
  journal_->session_begun(peer.peer(), peer.address());
  revokes_->met(peer);
}

/// Ends the broadcasts of a group that is revoked, what was begun through it, and the groups within it. The
/// library's own operations go on.
void engine::end_all_of(group_state& group, const error& why) noexcept {
  const bool all = SCOLL_MUTANT(revoke_all_groups, "a revoke ends the broadcasts of all groups");
  for (operation* op = live_.first(); op != nullptr; op = live_.next(*op)) {
    const bool covered = all || op->subject_.group.get() == &group;
    if (!covered || op->subject_.service->survives_revoke) continue;
    op->give_up_readers();
    if (op->answered()) continue;
    op->end_by(end_cause::revoked, why);
    // The graph may have no edge to the parent, so the parent is told directly.
    if (op->open()) revokes_->tell(group.id, *op->from());
  }
  if (!SCOLL_MUTANT(revoke_within_ignored, "calls made through a group go on when it is revoked")) {
    while (!group.calls.empty()) group.calls.pop_front().end_call(why);
  }
  for (const group_id& id : group.inner) {
    const auto within = groups_.find(id);
    if (within == nullptr || within->revoked != nullptr) continue;
    within->revoked = std::make_unique<const error>(why);
    journal_->group_revoked(*within);
    end_all_of(*within, why);
  }
}

/// The error with which nothing of a group begins any more, because the group, or one that it is within, is
/// revoked. Null if none of them is revoked.
const error* engine::revoke_of(const group_state& group) const {
  if (group.revoked != nullptr) return group.revoked.get();
  if (!group.within) return nullptr;
  const auto outer = groups_.find(*group.within);
  return outer == nullptr ? nullptr : revoke_of(*outer);
}

/// Refuses a request for a group that is revoked here, and tells the sender of the revoke unless it knows.
error engine::refuse_revoked(const admission_request& request, const group_state& group,
                             const service_entry& service) {
  const error* const why = revoke_of(group);
  if (why == nullptr || service.survives_revoke) return {};
  transport::session* const sender = endpoint_.find(request.from());
  if (sender != nullptr && group.members->rank_of(request.from())) revokes_->tell(group.id, *sender);
  return *why;
}

/// Refuses a request for a group that was revoked before its creation came. If the request has the creation,
/// this node learns the members and can tell them; it does not join the group.
error engine::refuse_unknown_revoked(const admission_request& request, const collective_head& head) {
  const auto kind = static_cast<collective_kind>(head.kind);
  if (kind != collective_kind::create && kind != collective_kind::broadcast) return {};
  const error why = revokes_->refusal_of_unknown(head.group);
  if (!why) {
    const group_ending end = groups_.refusal_of(head.group);
    if (end.fate != group_fate::revoked) return {};
    return make_error(errc::revoked, "node {} has revoked the group, reason {}", end.by, end.reason);
  }
  if (head.creation_bytes == 0) return why;
  auto creation = decode_creation(request.payload().bytes.first(head.creation_bytes));
  if (!creation) return creation.error();
  if (creation->elsewhere) return why;
  auto members = membership::make(std::move(creation->targets));
  if (!members) return members.error();
  if ((*members)->digest() == head.group.digest) learn_members(head.group, std::move(*members));
  return why;
}

void engine::learn_members(const group_id& id, membership_ptr members) {
  const auto rank = members->rank_of(options_.id);
  if (!rank) return;
  const auto group = std::make_shared<group_state>();
  group->id = id;
  group->members = std::move(members);
  group->self_rank = *rank;
  revokes_->members_known(group);
}

}  // namespace scoll::detail
