#include "scoll/collective/group_table.hpp"

#include <utility>

#include "scoll/collective/limits.hpp"
#include "scoll/coro/error_format.hpp"
#include "scoll/coro/mutants.hpp"

namespace scoll::detail {

std::shared_ptr<group_state> group_table::find(const group_id& id) const {
  if (last_ != nullptr && last_->id == id) return last_;
  const auto found = groups_.find(id);
  if (found == groups_.end()) return nullptr;
  return last_ = found->second;
}

std::shared_ptr<group_state> group_table::out_of_band(const group_id& id) const {
  group_id any = id;
  any.digest = {};
  const auto found = groups_.lower_bound(any);
  const bool known = id.creator == 0 && found != groups_.end() && found->first.creator == 0 &&
                     found->first.incarnation == id.incarnation && found->first.counter == id.counter;
  return known ? found->second : nullptr;
}

bool group_table::only_here(const group_id& id, long others) const noexcept {
  const auto found = groups_.find(id);
  const long references = last_ == found->second ? 2 : 1;  // the last one looked up has a second reference
  return found->second.use_count() == references + others;
}

std::vector<std::shared_ptr<group_state>> group_table::of_life(node_id creator,
                                                               std::uint64_t incarnation) const {
  std::vector<std::shared_ptr<group_state>> found;
  for (auto at = groups_.lower_bound({creator, incarnation, 0, {}});
       at != groups_.end() && at->first.creator == creator && at->first.incarnation == incarnation; ++at)
    found.push_back(at->second);
  return found;
}

std::vector<std::shared_ptr<group_state>> group_table::created_by(node_id creator,
                                                                  std::uint64_t last_incarnation) const {
  std::vector<std::shared_ptr<group_state>> found;
  for (auto at = groups_.lower_bound({creator, 0, 0, {}});
       at != groups_.end() && at->first.creator == creator && at->first.incarnation <= last_incarnation; ++at)
    found.push_back(at->second);
  return found;
}

std::shared_ptr<group_state> group_table::make(const group_id& id, membership_ptr members,
                                               std::uint32_t self_rank, service_id service,
                                               const tree_spec& tree) {
  auto group = std::make_shared<group_state>();
  group->id = id;
  group->members = std::move(members);
  group->self_rank = self_rank;
  group->service = service;
  group->tree = tree;
  groups_[id] = group;
  return group;
}

error group_table::why_no_creation(const group_id& id) const {
  if (refusal_of(id) && !SCOLL_MUTANT(late_creation_installed,
                                      "a creation that arrives after the end of its group is installed"))
    return {errc::unknown_group, "the group was destroyed before its creation arrived"};
  if (tombstones_.admits_creations(id.creator, id.incarnation)) return {};
  return make_error(errc::busy,
                    "the creations of {} ended groups of node {} may still arrive here: try again later",
                    max_tombstones_of_life, id.creator);
}

result<std::shared_ptr<group_state>> group_table::install(const collective_head& head,
                                                          const creation_terms& terms,
                                                          membership_ptr members) {
  if (const error late = why_no_creation(head.group)) return late;
  if (members->digest() != head.group.digest)
    return error(errc::malformed, "the membership does not have the digest of its group id");
  const auto rank = members->rank_of(self_);
  if (!rank) return make_error(errc::not_member, "node {} is not in the group", self_);
  const bool of_round =
      SCOLL_MUTANT(round_gives_its_tree, "a group that a further round brings has the tree of that round");
  const tree_spec tree = of_round ? head.tree() : head.group_tree();
  auto group = make(head.group, std::move(members), *rank, service_id{head.service}, tree);
  group->tentative = true;
  group->name = terms.name;
  group->inline_only = terms.inline_only;
  group->ends_with = terms.ends_with;
  group->within = terms.within;
  return group;
}

result<std::shared_ptr<group_state>> group_table::adopt(membership_ptr members, service_id service,
                                                        std::uint64_t id, const tree_spec& tree) {
  const auto rank = members->rank_of(self_);
  if (!rank) return make_error(errc::not_member, "node {} is not in the group", self_);
  const group_id name = out_of_band_group(service, id, members->digest());
  if (holds_out_of_band(name)) {
    return make_error(errc::already_exists, "this node holds group {} of service {:#06x}", id,
                      static_cast<std::uint32_t>(service));
  }
  return make(name, std::move(members), *rank, service, tree);
}

std::shared_ptr<group_state> group_table::hold_shrunk(const group_state& from, const group_id& id,
                                                      membership_ptr members) {
  if (auto known = find(id)) return known;
  const auto rank = members->rank_of(self_);
  const group_ending end = tombstones_.end_of_lasting(id);
  if (!rank || (end && end.gone)) return nullptr;
  auto group = make(id, std::move(members), *rank, from.service, from.tree);
  group->ends_with = lifetime::members;
  group->shrunk_from = from.id;
  group->name = from.name;
  return group;
}

void group_table::forget(const group_id& id) noexcept {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  found->second->forgotten = true;
  if (last_ == found->second) last_.reset();
  const std::shared_ptr<group_state> group = std::move(found->second);
  groups_.erase(found);
  if (!group->within) return;
  const auto outer = groups_.find(*group->within);
  if (outer != groups_.end()) std::erase(outer->second->inner, group->id);
}

void group_table::drop(const group_id& id, const group_ending& how) {
  const group_id kept = id;
  const auto found = groups_.find(kept);
  const lifetime ends_with = found == groups_.end() ? lifetime::creator : found->second->ends_with;
  forget(kept);
  if (kept.creator == 0) return;
  if (ends_with == lifetime::members) return tombstones_.bury_other(kept, how);
  // Its creation has arrived, so a full list can do without the tombstone.
  if (kept.creator != self_) static_cast<void>(tombstones_.bury(kept, how, false));
}

bool group_table::bury(const group_id& id, lifetime ends_with, const group_ending& how) {
  if (id.creator == 0 || id.creator == self_) return true;
  if (ends_with == lifetime::creator) return tombstones_.bury(id, how, true);
  tombstones_.bury_other(id, how);
  return true;
}

group_ending group_table::refusal_of(const group_id& id) const noexcept {
  // The creator's own table says which of its groups there are.
  if (id.creator == self_) return {group_fate::destroyed, self_, 0};
  return tombstones_.refusal_of(id);
}

counter_ranges group_table::ended_of(node_id creator, std::uint64_t incarnation) const {
  return tombstones_.ended_of(creator, incarnation);
}

void group_table::hear(node_id creator, std::uint64_t incarnation, const creation_statement& said) {
  if (creator != self_) tombstones_.hear(creator, incarnation, said);
}

void group_table::end_lives(node_id creator, std::uint64_t last_incarnation) noexcept {
  tombstones_.end_lives(creator, last_incarnation);
}

}  // namespace scoll::detail
