#include "scoll/collective/group_table.hpp"

#include <algorithm>
#include <utility>

#include "scoll/collective/group_admin.hpp"
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

bool group_table::holds_out_of_band(const group_id& id) const {
  group_id any = id;
  any.digest = {};
  const auto found = groups_.lower_bound(any);
  return id.creator == 0 && found != groups_.end() && found->first.creator == 0 &&
         found->first.incarnation == id.incarnation && found->first.counter == id.counter;
}

std::vector<group_id> group_table::created_by(node_id creator, std::uint64_t last_incarnation) const {
  std::vector<group_id> found;
  group_id from;
  from.creator = creator;
  for (auto at = groups_.lower_bound(from); at != groups_.end() && at->first.creator == creator; ++at) {
    if (at->first.incarnation <= last_incarnation) found.push_back(at->first);
  }
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

result<std::shared_ptr<group_state>> group_table::install(const collective_head& head,
                                                          std::span<const std::byte> creation) {
  if (buried(head.group))
    return error(errc::unknown_group, "the group was destroyed before its creation arrived");
  auto targets = decode_membership(creation);
  if (!targets) return targets.error();
  auto members = membership::make(std::move(*targets));
  if (!members) return members.error();
  if (head.group.creator == 0) return error(errc::malformed, "the id of the group names no creator");
  if ((*members)->digest() != head.group.digest) {
    return error(errc::malformed, "the membership does not have the digest of its group id");
  }
  const auto rank = (*members)->rank_of(self_);
  if (!rank) return make_error(errc::not_member, "node {} is not in the group", self_);
  auto group = make(head.group, std::move(*members), *rank, service_id{head.service},
                    {head.tree_kind, head.tree_params});
  group->tentative = true;
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

void group_table::forget(const group_id& id) noexcept {
  const auto found = groups_.find(id);
  if (found == groups_.end()) return;
  found->second->forgotten = true;
  if (last_ == found->second) last_.reset();
  groups_.erase(found);
}

void group_table::drop(const group_id& id) noexcept {
  const group_id kept = id;
  forget(kept);
  bury(kept);
}

void group_table::bury(const group_id& id) {
  if (buried(id)) return;
  if (tombstones_.size() < max_other_tombstones) {
    tombstones_.push_back(id);
  } else {
    tombstones_[tombstones_next_++ % max_other_tombstones] = id;
  }
}

bool group_table::buried(const group_id& id) const noexcept {
  return std::find(tombstones_.begin(), tombstones_.end(), id) != tombstones_.end();
}

}  // namespace scoll::detail
