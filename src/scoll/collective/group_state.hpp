#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "scoll/collective/bulk_choices.hpp"
#include "scoll/collective/creation_section.hpp"
#include "scoll/collective/group_name.hpp"
#include "scoll/collective/holder_set.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/offered_members.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/replay_window.hpp"
#include "scoll/collective/rooted_operations.hpp"
#include "scoll/collective/subset.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/coro/intrusive_list.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/detail/group_call.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/any_tree.hpp"

namespace scoll::transport {
class session;
}

namespace scoll::detail {

struct group_agreements;

/// The state of a group on one node.
struct group_state {
  struct root_window {
    std::uint32_t root_rank = 0;
    std::uint64_t incarnation = 0;
    replay_window window{};
    std::uint64_t ended_below = 0;  ///< the root has said that its operations below this counter have ended
    std::uint64_t last = 0;         ///< the counter of its last broadcast; 0: none has come
  };

  group_id id;
  membership_ptr members;
  std::uint32_t self_rank = 0;
  service_id service{};
  tree_spec tree;
  lifetime ends_with = lifetime::creator;
  std::optional<group_id> within;       // the group that this one ends with
  std::vector<group_id> inner;          // the groups within this one
  std::optional<group_id> shrunk_from;  // the group whose survivors this one has
  struct resolved_tree {
    std::uint32_t members = 0;
    any_tree tree;
    std::uint32_t root = 0;  // of a zoned tree: the index of its root
    subset_ptr among;        // of a zoned tree: the members that it is for; null: all
  };
  std::array<resolved_tree, 4> resolved;  // the trees used last, the latest first
  subset_ptr last_subset;                 // the last subset that came in a request
  std::vector<std::pair<std::uint32_t, transport::session*>> sessions;  // by rank: the sessions needed so far
  std::vector<root_window> windows;
  std::uint64_t next_counter = 1;  // the counter of operations rooted here
  std::shared_ptr<rooted_operations> rooted = std::make_shared<rooted_operations>();
  std::shared_ptr<group_agreements> agreements;  // null until one begins
  std::unique_ptr<const error> revoked;          // why broadcasts fail, once it is revoked
  intrusive_list<group_call, group_call> calls;  // what was begun through it, beside broadcasts
  bool creating = false;   // true while it is created here and not every member has answered
  bool tentative = false;  // true if another node created it and it has not been used yet
  bool forgotten = false;  // true once it has ended here
  bool end_owed = false;   // true if it was destroyed here and members could not be told at once
  group_name name;
  bool inline_only = false;                // true if nobody may offer its members by descriptor
  std::unique_ptr<holder_set> holders;     // of a delayed group: the members known to hold it; else null
  std::uint64_t creations_sent = 0;        // requests that its creation rode along with, from here
  std::weak_ptr<offered_members> offered;  // the encoded members, while operations offer them to children
  bulk_choices bulk;
  nanoseconds round_trip{0};  // allowed for the children of the last broadcast from here; 0: there was none
  nanoseconds measured_round_trip{0};  // of these children, as far as it is known
  bool mapped = false;                 // true if its members come from the service's `members` hook
  bool replaced = false;       // true if that hook has named others since; then it is `forgotten`, too
  bool window_gap = false;     // true if a replay window of this id may have been given up
  std::uint64_t last_use = 0;  // of a mapped group: the number of its last use

  /// True if a new life of a member can take part in a broadcast that an earlier one has seen.
  bool admits_new_lives() const noexcept { return id.creator == 0 || holders != nullptr; }
  /// The terms that the creation of the group carries beside its members.
  creation_terms terms() const;
  /// Offers its members to peers, or joins those who do so already. Error: `busy`.
  result<std::shared_ptr<offered_members>> offer(transport::endpoint& at);
  /// The bytes that a creation of this group may take beside a request: those of its shortest form.
  std::size_t riding_bytes() const;
  /// Gives an operation that is rooted here its counter.
  void enter(rooted_operation& op) noexcept;
  /// The lowest counter of operations rooted here that have not ended.
  std::uint64_t watermark() noexcept;
  /// The tree for `spec` over the members in `among`, or over all if that is null, with the root `root_rank`.
  /// It is built if it is not among the trees used last. Null on an error, with the reason in `fault`.
  const any_tree* resolve(const tree_spec& spec, const subset_ptr& among, std::uint32_t root_rank,
                          tree_fault& fault);
  /// The subset that a request names, with its digest. It is shared with the request before if that named the
  /// same. Error: `malformed`.
  result<subset_ptr> take_subset(std::span<const std::byte> bytes, std::uint64_t digest);
};

/// The error of a broadcast whose root has begun its last broadcast to the group before.
inline error after_the_last() {
  return {errc::stale, "the last broadcast of this node to the group has begun"};
}

/// A member's place in a broadcast: how many members there are, and its distance from the root in relative
/// ranks.
struct tree_place {
  std::uint32_t members = 0;
  std::uint32_t relative = 0;
  std::uint32_t parent_rank = 0;
  const any_tree* tree = nullptr;
};

}  // namespace scoll::detail
