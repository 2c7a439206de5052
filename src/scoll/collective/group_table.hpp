#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "scoll/collective/collective_head.hpp"
#include "scoll/collective/group_state.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/tombstones.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

/// The groups that one node holds, and the tombstones of those that it held. It sends nothing and has no
/// clock.
class group_table {
 public:
  explicit group_table(node_id self) noexcept : self_(self) {}

  std::size_t size() const noexcept { return groups_.size(); }
  /// The group of that id. Null if this node does not hold it.
  std::shared_ptr<group_state> find(const group_id& id) const;
  /// The group that is known under the service's own id in `id`, with whatever membership. Null if there is
  /// none.
  std::shared_ptr<group_state> out_of_band(const group_id& id) const;
  /// True if nothing beside this table refers to the group, which it holds.
  bool only_here(const group_id& id, long others = 0) const noexcept;
  /// True if some membership is known under the service's own id in `id`.
  bool holds_out_of_band(const group_id& id) const { return out_of_band(id) != nullptr; }
  /// Calls `visit(const group_state&)` for every group from the id `first` on, in the order of their ids. A
  /// visitor that returns a truth value ends it with false.
  template <class Visitor>
  void each(Visitor&& visit, const group_id& first = {}) const {
    for (auto at = groups_.lower_bound(first); at != groups_.end(); ++at) {
      if constexpr (std::is_void_v<decltype(visit(*at->second))>) {
        visit(*at->second);
      } else if (!visit(*at->second)) {
        return;
      }
    }
  }
  /// The groups of one life of a creator, in the order of their counters.
  std::vector<std::shared_ptr<group_state>> of_life(node_id creator, std::uint64_t incarnation) const;
  /// The groups that lives of `creator` up to `last_incarnation` have created.
  std::vector<std::shared_ptr<group_state>> created_by(node_id creator, std::uint64_t last_incarnation) const;

  /// Makes a group that this node creates; nobody else knows it yet.
  std::shared_ptr<group_state> make(const group_id& id, membership_ptr members, std::uint32_t self_rank,
                                    service_id service, const tree_spec& tree);
  /// The reason why no creation of that group is installed: `unknown_group` if the group has ended; `busy` if
  /// too many ended groups of its creator have to be remembered.
  error why_no_creation(const group_id& id) const;
  /// Installs the group of a creation that has arrived. Errors: those of `why_no_creation`; `malformed`;
  /// `not_member`.
  result<std::shared_ptr<group_state>> install(const collective_head& head, const creation_terms& terms,
                                               membership_ptr members);
  /// Makes a group known on this node alone, under an id of its service. Errors: `not_member`,
  /// `already_exists`.
  result<std::shared_ptr<group_state>> adopt(membership_ptr members, service_id service, std::uint64_t id,
                                             const tree_spec& tree);

  /// Makes the group of the survivors of `from` known here. Null if it is known to be gone.
  std::shared_ptr<group_state> hold_shrunk(const group_state& from, const group_id& id,
                                           membership_ptr members);

  /// Removes a group that its creation may bring back. The id may lie in the group.
  void forget(const group_id& id) noexcept;
  /// Removes a group for good: a creation that arrives later is refused. The id may lie in the group.
  void drop(const group_id& id, const group_ending& how);
  /// Sets the tombstone of a group whose end came before its creation. Returns false if there is no room.
  [[nodiscard]] bool bury(const group_id& id, lifetime ends_with, const group_ending& how);

  /// The end of a group, if a creation of it that arrives now is refused because of that end.
  group_ending refusal_of(const group_id& id) const noexcept;
  /// The counters of that life's groups of whose end this node remembers.
  counter_ranges ended_of(node_id creator, std::uint64_t incarnation) const;
  /// Takes a creator's statement about its creations.
  void hear(node_id creator, std::uint64_t incarnation, const creation_statement& said);
  /// Forgets the ends of groups of lives that are over.
  void end_lives(node_id creator, std::uint64_t last_incarnation) noexcept;
  const tombstones& ends() const noexcept { return tombstones_; }

 private:
  node_id self_;
  std::map<group_id, std::shared_ptr<group_state>> groups_;
  mutable std::shared_ptr<group_state> last_;  // looked up last: most requests are for one group
  tombstones tombstones_;
};

}  // namespace scoll::detail
