#include <algorithm>
#include <new>
#include <optional>
#include <span>

#include "scoll/collective/admission_request.hpp"
#include "scoll/collective/admissions.hpp"
#include "scoll/collective/agreement/agreements.hpp"
#include "scoll/collective/agreement/service.hpp"
#include "scoll/collective/bulks.hpp"
#include "scoll/collective/end_requests.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/group_admin.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/collective/member_questions.hpp"
#include "scoll/collective/operation/operation.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"
#include "transport/session/session.hpp"
#include "transport/wire/checksum.hpp"
#include "transport/wire/wire.hpp"

// Admission control: the checks that a peer's request must pass before it becomes an operation here. A
// refusal is an answer, and it is certain: nothing has run.
namespace scoll::detail {

void engine::on_request(transport::request_view& request) noexcept {
  collective_head head;
  std::optional<bulk_head> bulk;
  std::optional<broadcast_caller> caller;
  wire::reader in(request.head());
  const bool read = wire::decode(in, head);
  if (read && (head.flags & collective_head::bulk_follows) != 0) wire::decode(in, bulk.emplace());
  if (read && (head.flags & collective_head::caller_follows) != 0) wire::decode(in, caller.emplace());
  if (in.ok()) in.finish();
  const admission_request asked(request, executor_.now(), bulk ? &*bulk : nullptr,
                                caller ? &*caller : nullptr);
  const error refused = in.ok() ? admit_safely(asked, head) : in.error();
  if (!refused) return;
  // Only its parent can say that this node takes part in a broadcast.
  const bool strange =
      refused == errc::not_parent || refused == errc::not_member || refused == errc::malformed;
  if (in.ok() && bulk && !strange) bulks_->refused(head);
  ++statistics_.refused;
  if (!request.settled()) request.refuse(refused);
}

error engine::admit_safely(const admission_request& request, const collective_head& head) noexcept {
  try {
    return admit(request, head);
  } catch (const std::bad_alloc&) {
    return {errc::busy, "this process has no memory to admit the request"};
  }
}

/// Checks a request, and makes it an operation or lets it wait. Returns the reason if it is refused.
error engine::admit(const admission_request& request, const collective_head& head) {
  const auto kind = static_cast<collective_kind>(head.kind);
  if (head.kind > static_cast<std::uint8_t>(collective_kind::bulk)) {
    return make_error(errc::malformed, "there is no collective request of kind {}", head.kind);
  }
  if (!head.has_valid_flags())
    return make_error(errc::malformed, "a collective request with flags {:#06x}", head.flags);
  if (kind == collective_kind::sweep) return sweeper_->answer(*request.arriving(), head);
  if (work_.closed()) return make_error(errc::closed, "node {} is shutting down", options_.id);
  if (kind == collective_kind::end) return end_requests_->serve(*request.arriving(), head);
  if (kind == collective_kind::members) return member_questions_->answer(*request.arriving(), head);
  if (kind == collective_kind::bulk) return bulks_->serve(*request.arriving(), head);
  if (request.bulk() != nullptr) {
    if (const status good = check(*request.bulk(), request.from()); !good) return good.error();
    if (kind != collective_kind::broadcast) return {errc::malformed, "bulk data without a broadcast"};
  }
  if (request.caller() != nullptr && kind != collective_kind::broadcast)
    return {errc::malformed, "a caller without a broadcast"};
  if (const error bad = check_sizes(head, request.payload().bytes.size())) return bad;
  auto entry = kind == collective_kind::broadcast ? find_service(service_id{head.service}) : group_service_;
  if (entry == nullptr ||
      (kind == collective_kind::create && find_service(service_id{head.service}) == nullptr)) {
    return make_error(errc::unknown_service, "node {} does not serve {:#06x}", options_.id, head.service);
  }
  const bool restricted = !options_.allow.empty() && head.service >= first_user_service;
  if (restricted && !options_.allow.may_broadcast(request.from(), {}, service_id{head.service}))
    return journal_->not_authorised(request.from(), {}, entry->table->name);
  if (full_for(kind)) {
    return make_error(errc::busy, "no broadcast more can run at once on node {}: node.max_operations is {}",
                      options_.id, options_.max_operations);
  }
  auto group = groups_.find(head.group);
  if (group == nullptr && agreements_->hold_voted(head.group)) group = groups_.find(head.group);
  if (kind == collective_kind::forget) return admit_forget(request, head, std::move(entry));
  const bool known = group != nullptr;
  if (known && group->forgotten) {
    return make_error(errc::unknown_group, "node {} has ended group {} of node {}", options_.id,
                      head.group.counter, head.group.creator);
  }
  if (!known) {
    if (const error why = refuse_unknown_revoked(request, head)) return why;
    auto found = group_for(request, head, entry);
    if (!found) return found.error();
    if (*found == nullptr) return {};  // it waits
    group = std::move(*found);
  }
  if (const error why = refuse_revoked(request, *group, *entry)) return why;
  if (known || group->mapped) return admit_to_group(request, head, group, std::move(entry));
  error placed = admit_to_group(request, head, group, std::move(entry));
  if (placed) forget_unused(*group);
  return placed;
}

/// Removes a group that was installed for a request which is refused. The replay windows of a delayed group
/// are kept, so that no operation is executed again when the group comes back.
void engine::forget_unused(group_state& group) {
  if (group.holders != nullptr) windows_.keep(group);
  groups_.forget(group.id);
}

namespace {

error too_large_a_request(std::size_t bytes) {
  return make_error(errc::too_large, "a request of {} bytes: at most {} are allowed", bytes,
                    max_request_bytes);
}

}  // namespace

/// Checks that the parts of the payload have the sizes that the head gives, and that a creation is announced
/// where there is one.
error engine::check_sizes(const collective_head& head, std::size_t payload) {
  const auto kind = static_cast<collective_kind>(head.kind);
  const std::size_t before = head.bytes_before_request();
  if (payload > max_collective_payload_bytes) {
    return make_error(errc::too_large, "a collective message of {} bytes: at most {} are allowed", payload,
                      max_collective_payload_bytes);
  }
  if (before > payload)
    return make_error(errc::malformed, "a payload of {} bytes, {} of them before the request", payload,
                      before);
  const bool rides = (head.flags & collective_head::creation_rides) != 0;
  const bool announced = kind == collective_kind::create || (kind == collective_kind::broadcast && rides);
  if ((head.creation_bytes != 0) != announced || (rides && kind != collective_kind::broadcast))
    return error(errc::malformed, "a creation that is not announced, or an announced one that is missing");
  if (payload - before <= max_request_bytes || head.names_lives())
    return {};  // how many lives is not known yet
  return too_large_a_request(payload - before);
}

error engine::admit_forget(const admission_request& request, const collective_head& head,
                           std::shared_ptr<service_entry> service) {
  const auto forgets = decode_forget(request.payload().bytes.subspan(head.bytes_before_request()));
  if (!forgets) return forgets.error();
  if (head.group.creator == 0) {
    return make_error(errc::invalid_argument,
                      "group {} is out of band: each member ends it by itself, and no other can tell it to",
                      head.group.counter);
  }
  const auto group = groups_.find(head.group);
  if (group == nullptr) {
    auto none = group_for(request, head, service);
    return forget_unknown(head, *forgets, none.error());
  }
  if (const error placed = admit_to_group(request, head, group, std::move(service))) return placed;
  hear_statement(head, forgets->said);
  // Its subtree is told before it is dropped here.
  group->forgotten = true;
  end_operations(*group);
  return {};
}

/// Remembers the end of a group whose creation may still arrive. Returns why the request is refused.
error engine::forget_unknown(const collective_head& head, const forget_request& forgets, const error& why) {
  const group_id& id = head.group;
  const bool possible = endpoint_.find(id.creator) != nullptr && !lives_.is_over(id.creator, id.incarnation);
  if (!possible && forgets.ends_with == lifetime::creator) return why;
  if (possible) hear_statement(head, forgets.said);
  admissions_->end_group(id, {errc::unknown_group, "the group was destroyed before its members were known"});
  if (groups_.bury(id, forgets.ends_with, {group_fate::destroyed, head.operation.root, 0})) return why;
  return make_error(errc::busy,
                    "node {} remembers {} ended groups of node {}: try again when their creations are over",
                    options_.id, max_tombstones_of_life, id.creator);
}

/// Only the creator itself, in the life that has created the group, speaks of its creations.
void engine::hear_statement(const collective_head& head, const std::optional<creation_statement>& said) {
  const bool by_creator =
      head.operation.root == head.group.creator && head.operation.incarnation == head.group.incarnation;
  if (said && by_creator) groups_.hear(head.group.creator, head.group.incarnation, *said);
}

namespace {

/// Finds out whether the root lets this life of the node execute, if another one can be in the group as well.
error hear_permit(const group_state& group, const collective_head& head, const subset* among,
                  std::span<const std::byte> payload, std::uint64_t this_life, own_part& own) {
  if (head.names_lives() != group.admits_new_lives())
    return error(errc::malformed, "lives are named exactly where a new life can enter the group");
  if (!head.names_lives()) return {};
  const std::uint32_t members = among != nullptr ? among->size() : group.members->size();
  const std::uint32_t self = among != nullptr ? *among->index_of(group.self_rank) : group.self_rank;
  payload = payload.subspan(head.bytes_before_request());
  const auto tags = life_tags::read(payload, members);
  if (!tags) return tags.error();
  const std::size_t request = payload.size() - life_tags::bytes_of(members);
  if (request > max_request_bytes) return too_large_a_request(request);
  const life_tag permitted = (*tags)[self];
  if (permitted == for_any_life ||
      SCOLL_MUTANT(life_tag_unchecked, "a member executes whichever life of it the request is for"))
    return {};
  if (permitted != tag_of_life(this_life)) {
    own.barred = errc::peer_rebooted;
  } else if (group.window_gap) {
    own.barred = errc::record_gone;
  }
  return {};
}

}  // namespace

error engine::admit_to_group(const admission_request& request, const collective_head& head,
                             const std::shared_ptr<group_state>& group,
                             std::shared_ptr<service_entry> service) {
  const membership& members = *group->members;
  const bool created = group->id.creator != 0;
  const bool agrees = created && group->holders == nullptr &&
                      head.service == static_cast<std::uint32_t>(agreement_service::id);
  if (head.service != static_cast<std::uint32_t>(group->service) && !agrees) {
    return make_error(errc::unknown_service, "the group is for service {:#06x}, not {:#06x}",
                      static_cast<std::uint32_t>(group->service), head.service);
  }
  if (head.root_rank >= members.size() || members.node(head.root_rank) != head.operation.root) {
    return make_error(errc::not_member, "node {} is not member {} of the group", head.operation.root,
                      head.root_rank);
  }
  subset_ptr among;
  if (head.subset_bytes != 0) {
    const auto bytes = request.payload().bytes.subspan(head.creation_bytes);
    if (head.subset_bytes > max_subset_bytes)
      return make_error(errc::malformed, "the ranks of a subset in {} bytes", head.subset_bytes);
    auto taken = group->take_subset(bytes.first(head.subset_bytes), head.subset_digest);
    if (!taken) return taken.error();
    among = std::move(*taken);
  }
  const auto here = place_in(*group, head, among);
  if (!here) return here.error();
  if (members.node(here->parent_rank) != request.from() &&
      !SCOLL_MUTANT(wrong_parent_accepted, "a request is accepted from any node")) {
    return make_error(errc::not_parent, "node {} is not the parent of node {} in this tree", request.from(),
                      options_.id);
  }
  if (head.watermark > head.operation.counter)
    return error(errc::malformed, "an operation whose own head says that it has ended");
  if (head.remaining_ns != 0 && head.remaining_ns <= std::uint64_t{head.margin_us} * 1000) {
    return {errc::deadline_exceeded, "the time left is less than the margin of one level"};
  }
  const bool dissents =
      among != nullptr && (head.flags & collective_head::living) != 0 && view_differs(*group, *among);
  if (dissents && (head.flags & collective_head::same_view) != 0 &&
      !SCOLL_MUTANT(same_view_ignored, "a member that sees other nodes alive takes part all the same"))
    return make_error(errc::view_differs, "node {} sees other nodes alive than the root", options_.id);
  if (head.may_come_in_parts()) {
    const std::size_t least =
        least_bytes_for_parts(head, *service->table, *here->tree, here->members, here->relative);
    if (const error full = reply_memory_.why_full(least)) return full;
  }
  const bool relay = head.is_broadcast() && head.service_version != service->table->version &&
                     !SCOLL_MUTANT(version_unchecked, "a request of another version is executed");
  if (head.is_broadcast() && !relay && head.streams_items() != service->table->streams)
    return error(errc::malformed, "items are asked of a service that streams none, or none of one that does");
  own_part own;
  if (head.keeps_parts()) {
    const auto payload = request.payload().bytes;
    const error bad = hear_permit(*group, head, among.get(), payload, options_.incarnation, own);
    if (bad) return bad;
  }
  const auto kept_for = [&] {
    return time_to_keep(head, request.bulk(), here->tree->subtree_levels(here->members, 0));
  };
  const error seen = head.keeps_parts() ? admit_kept(*group, head, kept_for(), *service->table, relay, own)
                                        : admit_once(*group, head);
  if (seen) return seen;
  if (head.is_broadcast()) group->tentative = false;
  if (group->holders != nullptr) note_holders(*group, head, here->parent_rank);
  if (group->mapped) mapped_.use(*group);
  operation* op = acquire(static_cast<collective_kind>(head.kind));
  ++statistics_.received;
  if (dissents) op->result_.dissenters = {1, group->self_rank};
  if (head.keeps_parts()) op->own_ = std::move(own);
  op->accept(request, head, group, std::move(among), std::move(service), *here->tree, here->relative, relay);
  return {};
}

/// Finds this node's place in the broadcast's tree. Errors: this node or the root is not addressed; there is
/// no such tree; the root got its own broadcast.
result<tree_place> engine::place_in(group_state& group, const collective_head& head,
                                    const subset_ptr& among) {
  std::optional<std::uint32_t> self = group.self_rank, root = head.root_rank;
  if (among != nullptr) {
    self = among->index_of(*self);
    root = among->index_of(*root);
    if (!self || !root) return error(errc::not_member, "the broadcast is for other members of the group");
  }
  tree_place here;
  here.members = among != nullptr ? among->size() : group.members->size();
  here.relative = to_relative(*self, *root, here.members);
  if (here.relative == 0) return error(errc::not_parent, "the root got its own broadcast");
  tree_fault fault = tree_fault::none;
  here.tree = group.resolve(head.tree(), among, head.root_rank, fault);
  if (here.tree == nullptr) return error(errc::unknown_tree, describe(fault));
  const std::uint32_t parent = here.tree->parent(here.members, here.relative);
  if (parent >= here.members) return error(errc::unknown_tree, "the tree names a parent beyond its members");
  const std::uint32_t index = to_rank(parent, *root, here.members);
  here.parent_rank = among != nullptr ? among->rank_at(index) : index;
  return here;
}

namespace {

/// The window of the operation's root. A later life of the root begins with an empty one.
group_state::root_window& window_of(group_state& group, const collective_head& head) {
  for (group_state::root_window& w : group.windows) {
    const bool shared =
        w.root_rank == head.root_rank || SCOLL_MUTANT(one_window_for_all, "all roots share one window");
    if (!shared) continue;
    if (head.operation.incarnation > w.incarnation) w = {w.root_rank, head.operation.incarnation};
    return w;
  }
  return group.windows.emplace_back(group_state::root_window{head.root_rank, head.operation.incarnation});
}

}  // namespace

/// True if an operation was admitted here, or is older than those that this node remembers.
bool engine::has_seen(const group_state& group, const collective_head& head) noexcept {
  const auto at = std::ranges::find(group.windows, head.root_rank, &group_state::root_window::root_rank);
  if (at == group.windows.end() || head.operation.incarnation > at->incarnation) return false;
  return head.operation.incarnation < at->incarnation || head.operation.counter < at->ended_below ||
         at->window.seen(head.operation.counter);
}

/// Refuses an operation that this life of its root has sent before, or that has ended there.
error engine::admit_once(group_state& group, const collective_head& head) {
  if (SCOLL_MUTANT(no_replay_window, "an operation that was seen before is admitted again")) return {};
  const operation_id& op = head.operation;
  auto& w = window_of(group, head);
  const bool earlier = op.incarnation < w.incarnation;
  if (earlier && SCOLL_MUTANT(earlier_life_admitted, "a request of an earlier life of its root is admitted"))
    return {};
  if (!earlier && op.counter < w.ended_below) {
    return make_error(errc::stale, "operation {} of node {} has ended there, as all below {}", op.counter,
                      op.root, w.ended_below);
  }
  if (!earlier && w.last != 0 && op.counter > w.last && head.is_broadcast()) {
    return make_error(errc::stale, "operation {} of node {} comes after its last, which was {}", op.counter,
                      op.root, w.last);
  }
  if (earlier || !w.window.admit(op.counter))
    return make_error(errc::already_exists, "operation {} of node {} was seen before", op.counter, op.root);
  if (head.watermark > w.ended_below) {
    bulks_->ended_below(group.id, op, head.watermark);
    records_->ended_below(group.id, op, head.watermark);
  }
  w.ended_below = std::max(w.ended_below, head.watermark);
  if ((head.flags & collective_head::last) != 0) w.last = op.counter;
  return {};
}

/// Admits a round of a broadcast whose members keep what they have done. If this node has seen it in an earlier round,
/// it gives what that has kept. If this life must not execute, it does not take the broadcast for seen. The place for
/// a record is found before the window takes the operation for seen.
error engine::admit_kept(group_state& group, const collective_head& head, nanoseconds kept_for,
                         const service_table& table, bool relay, own_part& own) {
  const operation_id& op = head.operation;
  if (op.attempt != 0 &&
      SCOLL_MUTANT(round_executes_again, "a member executes in each round that reaches it"))
    return {};
  const broadcast_name name = broadcast_name::of(head);
  const time_point now = executor_.now();
  const time_point until = saturating_add(now, kept_for);
  const group_state::root_window& w = window_of(group, head);
  const bool over = op.incarnation < w.incarnation || op.counter < w.ended_below;
  if (op.attempt != 0 && !over && w.window.seen(op.counter)) {
    own.elsewhere = own.begun = !relay;
    own.barred = errc::ok;
    own.record = relay ? nullptr : records_->find(name);
    if (own.record == nullptr) return {};
    if (op.attempt <= own.record->attempt) {
      return make_error(errc::already_exists, "round {} of operation {} of node {} comes after round {}",
                        op.attempt, op.counter, op.root, own.record->attempt);
    }
    own.record->attempt = op.attempt;
    records_->prolong(name, until);
    return {};
  }
  if (own.barred != errc::ok && !relay && !over && !w.window.seen(op.counter)) {
    own.elsewhere = own.begun = true;
    return {};
  }
  const error full = relay ? error() : records_->why_full(table.reply_capacity);
  if (full) return full;
  if (const error seen = admit_once(group, head)) return seen;
  if (relay) return {};
  own.record = records_->make(name, table.reply_capacity, until);
  own.record->attempt = op.attempt;
  own.hook_until = saturating_add(now, time_of_kept_hook(head));
  return {};
}

}  // namespace scoll::detail
