#include <algorithm>
#include <cstdint>
#include <utility>

#include "scoll/collective/admission_request.hpp"
#include "scoll/collective/admissions.hpp"
#include "scoll/collective/engine.hpp"
#include "scoll/collective/revoke.hpp"
#include "scoll/collective/sweeper.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"
#include "scoll/journal.hpp"
#include "transport/wire/byte_order.hpp"

// This file finds the group of a request that this node does not hold yet: the creation came along, or the
// members have to be searched for, or there is no such group.
namespace scoll::detail {
namespace {

/// The first eight bytes of a digest, by which people compare it.
std::uint64_t short_form(const membership_digest& digest) noexcept {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i) value = value << 8 | std::to_integer<std::uint64_t>(digest[i]);
  return value;
}

error membership_differs(const membership_digest& here, const membership_digest& root) {
  return make_error(errc::membership_changed, "membership differs: here {:016x}, root {:016x}",
                    short_form(here), short_form(root));
}

}  // namespace

/// Finds or installs the group. Null: the request waits until the members are found.
result<std::shared_ptr<group_state>> engine::group_for(const admission_request& request,
                                                       const collective_head& head,
                                                       const std::shared_ptr<service_entry>& service) {
  if (head.group.creator == 0) return out_of_band_for(request, head, service);
  if (head.creation_bytes != 0) return group_of_creation(request, head);
  return make_error(errc::unknown_group, "node {} does not hold group {} of node {}", options_.id,
                    head.group.counter, head.group.creator);
}

result<std::shared_ptr<group_state>> engine::out_of_band_for(const admission_request& request,
                                                             const collective_head& head,
                                                             const std::shared_ptr<service_entry>& service) {
  if (head.creation_bytes != 0) return error(errc::malformed, "the id of the group names no creator");
  auto other = groups_.out_of_band(head.group);
  if (SCOLL_MUTANT(adopted_digest_unchecked, "any membership under the id of an adopted group is taken") &&
      other != nullptr && !other->mapped)
    return other;
  const bool broadcast = static_cast<collective_kind>(head.kind) == collective_kind::broadcast;
  const bool has_hook = service->table->members.call != nullptr && head.group.incarnation == head.service;
  const bool by_hook = broadcast && has_hook && (other == nullptr || other->mapped);
  if (by_hook && request.found() == nullptr) {
    if (const error full = admissions_->await_hook(request, head, service)) return full;
    return std::shared_ptr<group_state>();
  }
  if (by_hook && other != nullptr &&
      SCOLL_MUTANT(digest_unchecked, "the members that a hook names are taken for those of every digest"))
    return other;
  if (by_hook) return membership_differs(request.found()->members->digest(), head.group.digest);
  if (other != nullptr) return membership_differs(other->members->digest(), head.group.digest);
  return make_error(errc::unknown_group, "node {} does not hold group {} of service {:#06x}", options_.id,
                    head.group.counter, head.service);
}

/// Installs the group whose creation came with the request.
result<std::shared_ptr<group_state>> engine::group_of_creation(const admission_request& request,
                                                               const collective_head& head) {
  if (groups_.refusal_of(head.group)) ++statistics_.late_creations;
  if (const error late = groups_.why_no_creation(head.group)) return late;
  auto creation = decode_creation(request.payload().bytes.first(head.creation_bytes));
  if (!creation) return creation.error();
  const bool announced = (head.flags & collective_head::creation_is_descriptor) != 0;
  if (announced != creation->elsewhere.has_value())
    return error(errc::malformed, "the head of a creation and its payload disagree on where the members are");
  const bool rides = (head.flags & collective_head::creation_rides) != 0;
  if (const error why = why_not_on_terms(head.group, creation->terms, rides)) return why;
  membership_ptr members = request.found() != nullptr ? request.found()->members : nullptr;
  if (creation->elsewhere && members == nullptr) {
    if (const error refused = await_members(request, head, *creation->elsewhere)) return refused;
    return std::shared_ptr<group_state>();
  }
  if (members == nullptr) {
    auto made = membership::make(std::move(creation->targets));
    if (!made) return made.error();
    members = std::move(*made);
  }
  if (creation->terms.within && !lies_within(*members, *creation->terms.within))
    return error(errc::malformed, "the group has a member that its outer group does not have");
  auto installed = groups_.install(head, creation->terms, std::move(members));
  if (!installed) return installed;
  group_state& group = **installed;
  if (request.found() != nullptr) group.offered = request.found()->offered;
  if (rides) {
    group.holders = std::make_unique<holder_set>(group.members->size());
    windows_.give_back(group);
  }
  enter_within(group);
  sweeper_->watch(group);
  journal_->group_created(group);
  return installed;
}

/// The reason why a group with these terms does not come into being here.
error engine::why_not_on_terms(const group_id& id, const creation_terms& terms, bool delayed) const {
  const bool with_creator = terms.ends_with == lifetime::creator;
  if (delayed && !with_creator) return {errc::malformed, "a delayed group that outlives its creator"};
  if (with_creator && lives_.is_over(id.creator, id.incarnation)) {
    return make_error(errc::unknown_group, "the group has ended with life {} of its creator, node {}",
                      id.incarnation, id.creator);
  }
  const auto outer = terms.within ? find_outer(*terms.within) : nullptr;
  if (outer != nullptr) {
    const error* const revoked = revoke_of(*outer);
    return revoked != nullptr ? *revoked : error();
  }
  if (!terms.within) return {};
  return make_error(errc::unknown_group,
                    "node {} does not hold group {} of node {}, within which this one is", options_.id,
                    terms.within->counter, terms.within->creator);
}

/// The group of that id, within which others may be. Null if this node does not hold such a group.
std::shared_ptr<group_state> engine::find_outer(const group_id& id) const {
  auto outer = find_group(id);
  return outer == nullptr || outer->mapped ? nullptr : outer;
}

/// True if this node holds the outer group, and it has all these members.
bool engine::lies_within(const membership& members, const group_id& outer) const {
  const auto held = find_outer(outer);
  return held != nullptr && std::ranges::all_of(members.targets(), [&](const target& t) {
           return held->members->rank_of(t.node).has_value();
         });
}

/// Notes at the outer group that this one ends with it.
void engine::enter_within(const group_state& group) {
  const auto outer = group.within ? find_outer(*group.within) : nullptr;
  if (outer != nullptr) outer->inner.push_back(group.id);
}

/// Lets the request wait for the members that its sender offers.
error engine::await_members(const admission_request& request, const collective_head& head,
                            const transport::region_descriptor& from) {
  if (from.node != request.from())
    return make_error(errc::malformed, "node {} offers members that lie at node {}", request.from(),
                      from.node);
  return admissions_->await_pull(request, head, from);
}

/// A member that has sent a request for a delayed group holds it, and so do its root and its creator.
void engine::note_holders(group_state& group, const collective_head& head, std::uint32_t parent_rank) {
  group.holders->insert(group.self_rank);
  group.holders->insert(head.root_rank);
  group.holders->insert(parent_rank);
  if (const auto creator = group.members->rank_of(group.id.creator)) group.holders->insert(*creator);
}

/// Holds the group whose members a hook has named. If it was revoked before they were known, no request makes
/// this node hold it.
result<std::shared_ptr<group_state>> engine::hold_named(const membership_ptr& members, service_id service,
                                                        std::uint64_t id, bool by_request) {
  const group_id name = out_of_band_group(service, id, members->digest());
  const error why = by_request ? revokes_->refusal_of_unknown(name) : revokes_->why_not_held(name);
  if (why) {
    learn_members(name, members);
    return why;
  }
  const auto before = groups_.out_of_band(name);
  auto held = mapped_.hold(members, service, id, options_.default_tree);
  if (!held && held.error() == errc::busy && revokes_->make_room_in_cache())
    held = mapped_.hold(members, service, id, options_.default_tree);
  if (before != nullptr && before->replaced) revokes_->dropped(before->id);
  return held;
}

/// Holds the group that a search is for. If there is no place for it, the search has failed.
void engine::hold_mapped(resolution& search) {
  const service_id service{static_cast<std::uint32_t>(search.of.incarnation)};
  const auto held = hold_named(search.members, service, search.of.counter, true);
  if (!held && held.error() != errc::not_member && held.error() != errc::revoked)
    search.failed = held.error();
}

}  // namespace scoll::detail
