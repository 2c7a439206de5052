#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <vector>

#include "scoll/collective/group_state.hpp"
#include "scoll/collective/notice_head.hpp"
#include "scoll/collective/revoke_report.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/ids.hpp"
#include "transport/session/notice.hpp"

namespace scoll::detail {

class revoker;
struct revocation;

/// A notice on its way to one member.
struct member_notice final : transport::emission {
  member_notice(function on_progress, revocation& its_news, node_id to) noexcept
      : emission(on_progress), of(&its_news), node(to) {}

  revocation* of;
  node_id node;
  bool counted = false;  ///< among the emitted ones
};

/// The knowledge of a node about one group that was revoked or ended by a notice, and the members that the
/// node has to tell.
struct revocation {
  revocation(revoker& its_owner, const notice_head& said) noexcept : by(&its_owner), notice(said) {}

  revoker* by;
  notice_head notice;
  std::shared_ptr<group_state> group;  ///< null as long as this node does not know the membership
  std::vector<node_id> to_tell;        ///< in order
  std::size_t next = 0;                ///< of `to_tell`: those before have been given to their sessions
  std::vector<node_id> others;         ///< that are told at the end of the turn
  std::list<member_notice> telling;    ///< not acknowledged yet
  /// Members that may not have heard. Each is told as soon as there is news of it, in whatever life: the group may have
  /// been created when this node had not heard of its latest one.
  std::vector<node_id> owed;
  std::vector<node_id> knowing;  ///< members that have told this node
  std::uint32_t emitted = 0;
  event progress;
  std::uint32_t behind = 0;  ///< members whose notice waits behind others to the same member
  bool stalled = false;      ///< it waits for room among the notices of this node
  bool over = false;         ///< the group is not held here any more; what is under way goes on
  bool apart = false;        ///< the group was not known here when the notice came, and it is not held
  bool asking = false;
  std::size_t asked = 0;  ///< of `knowing`: those before have been asked who the members are

  notice_kind kind() const noexcept { return static_cast<notice_kind>(notice.kind); }
  /// Notes that a node has heard.
  void knows(node_id node);
  std::uint32_t connecting() const noexcept;
  revoke_report report() const noexcept {
    return {emitted, connecting(), static_cast<std::uint32_t>(owed.size())};
  }
  bool is_told(node_id node) const noexcept;
  bool owes(node_id node) const noexcept;
  /// Forgets the debt to a node. Returns true if there was one.
  bool settle(node_id node) noexcept { return std::erase(owed, node) != 0; }
};

/// The members that a member tells. `living` has its children in the tree of the notice, then its other
/// neighbours in the graph, farthest first; members in `dead` and the node `sender` are left out. The
/// argument `dead` has ascending ranks, and `sender` may be 0. The list `dead` of the result has the
/// neighbours that were left out because they are held dead.
struct revoke_targets {
  std::vector<std::uint32_t> living;
  std::vector<std::uint32_t> dead;
  std::size_t children = 0;  ///< of `living`: the first ones
};
revoke_targets targets_of(group_state& group, const notice_head& notice,
                          const std::vector<std::uint32_t>& dead, node_id sender);

/// The error with which everything ends that a revoke covers.
error revoked_by(const notice_head& notice) noexcept;
/// Reads such an error back into the notice's `by`, `reason` and text, as far as it has them.
void read_revoked(const error& why, notice_head& into) noexcept;

}  // namespace scoll::detail
