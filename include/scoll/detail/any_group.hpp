#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "scoll/bulk/costs.hpp"
#include "scoll/collective/agree.hpp"
#include "scoll/collective/group_timing.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/addressees.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/link_map.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

class engine;

/// The part of `group<S>` that does not depend on `S`.
class any_group {
 public:
  any_group() = default;
  any_group(engine& owner, std::shared_ptr<group_state> state) noexcept
      : engine_(&owner), to_{std::move(state)} {}

  /// False for a default-constructed group, which has no members and belongs to no node.
  bool valid() const noexcept { return to_.group != nullptr; }
  const group_id& id() const noexcept;
  const membership& members() const noexcept;
  membership_ptr shared_members() const noexcept;
  /// The rank of this node.
  std::uint32_t rank() const noexcept;
  const tree_spec& tree() const noexcept;
  /// The members that a broadcast to this group is for. Ranks keep their meaning, the tree spans only these
  /// members, and the outcome calls all others `excluded`.
  rank_set addressed() const;
  /// The times of the next broadcast from here that has no deadline and no bulk data. All are 0 if the group
  /// is empty, or if its service or its tree is not known here.
  group_timing timing() const;

  /// Revokes the group: at every member, broadcasts of the group that run or would begin, from any root and
  /// to any of its members, end at once with `revoked`, and so do calls that were made through it
  /// (`ship_options::within`). Each member that hears of it tells others, so that all living members hear
  /// even if some die meanwhile, this node among them. The group stays, and must still be destroyed. A revoke
  /// of a group that is revoked changes nothing; the first reason that a member hears stands.
  ///
  /// `reason` is the application's own number, and `text`, of which 64 bytes are kept, is for people; both
  /// are in the errors, the number as their `detail`. The await ends when this node has told the members that
  /// it tells itself, after `node_options::revoke_emission` at the latest; it waits for no answer. Errors:
  /// `invalid_argument` (the group is empty), `unknown_group` (it has been destroyed), `closed`. Thread: the
  /// node's.
  task<result<revoke_report>> revoke(std::uint32_t reason, std::string_view text = {}) const;

  /// From now on, broadcasts of this node to the group, and to parts of it, choose the plan for their bulk
  /// data by these costs. Nothing is known about hosts: each member counts as alone on its own. Error:
  /// `invalid_argument` (the group is empty). Thread: the node's.
  status use_bulk_costs(const scoll::bulk_costs& costs) const;
  /// Likewise by links that `measure_links` or `plan_tree` has found for this group from here, so that member
  /// 0 of the map is this node. The worst costs of its classes count, and members that share a host take
  /// turns in receiving. Errors: `invalid_argument` (the group is empty, the map has another number of
  /// members, or none of its classes has costs of bulk data).
  status use_bulk_costs(const link_map& links) const;

  engine& get_engine() const noexcept { return *engine_; }
  const std::shared_ptr<group_state>& state() const noexcept { return to_.group; }
  const addressees& to() const noexcept { return to_; }

 protected:
  any_group narrowed_to(const rank_set& ranks) const;
  any_group narrowed_by(const rank_set& ranks) const;
  any_group narrowed_to_living() const;
  task<agreed_bytes> agree_encoded(std::uint64_t instance, result<std::vector<std::byte>> value,
                                   merge_values merge, agree_options options) const;
  /// The members addressed that `other` addresses too, and those that it does not.
  any_group meeting(const any_group& other) const;
  any_group without(const any_group& other) const;
  task<result<any_group>> settled(group_options options) const;
  task<result<any_group>> shrink_any(agree_options options) const;

 private:
  // Each works on a copy, because a task may begin when the group that it was made with is gone.
  static task<agreed_bytes> agree_on(any_group self, std::uint64_t instance,
                                     result<std::vector<std::byte>> value, merge_values merge,
                                     agree_options options);
  static task<result<any_group>> settle(any_group self, group_options options);
  static task<result<any_group>> shrink(any_group self, agree_options options);
  rank_set shared_with(const any_group& other) const;
  any_group narrowed(rank_set left, bool living) const;

  engine* engine_ = nullptr;
  addressees to_;
};

}  // namespace scoll::detail
