#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <type_traits>

#include "scoll/bulk/costs.hpp"
#include "scoll/bulk/plan.hpp"
#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/end_condition.hpp"
#include "scoll/collective/group_name.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/ids.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll {

/// Decides about a broadcast to members that are known to be dead.
enum class dead_members : std::uint8_t {
  /// Nothing is sent, and the answer names the dead members.
  refuse,
  /// Members that can be reached execute. The dead, and the members below them in the tree, are not reached.
  try_others,
};

/// Says what becomes of a broadcast when a member is lost or fails, that is, when its state is settled and is
/// not `merged` (docs/failure.md).
enum class failure_policy : std::uint8_t {
  /// The others go on. The outcome says what is missing.
  degrade,
  /// The broadcast ends as soon as the root hears of it: the cause of that member is the status, the other
  /// members are told to stop, and the await ends when they have said how far they came. Members send such
  /// news up at once, ahead of their answers.
  fail_fast,
  /// Members that are lost, or were never reached because another one is, are asked again by another way, in
  /// further rounds. Each executes at most once all the same: members keep their reply for these rounds. The
  /// await ends when nobody is left who could still be reached. Of a deadline the first round has three
  /// quarters; without one the broadcast takes at most three times as long as with `degrade`. `finish` runs
  /// at the root alone. Errors: `unsupported` (with `until`, `bulk`, `last`, `same_view`; out of band or
  /// delayed for over 895 members), `busy` (no memory for parts of replies; at a member, for its own).
  repair,
};
inline constexpr failure_policy degrade = failure_policy::degrade;
inline constexpr failure_policy fail_fast = failure_policy::fail_fast;
inline constexpr failure_policy repair = failure_policy::repair;

/// Options of one broadcast. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct bcast_options {
  /// The time for the whole broadcast. Each level of the tree keeps a margin of it, so that a parent answers
  /// before its own parent gives up. Without a limit, the cascading timeouts of the processing bound apply. A
  /// limit that is over, or too short for the depth of the tree, fails the broadcast at once.
  time_limit deadline{};
  /// The time that one member may take, without its subtree; 0 means the service's bound. It is not used with
  /// a deadline.
  nanoseconds processing_bound{0};
  /// When this token fires, the broadcast ends with `cancelled`, and its members are told.
  stop_token stop{};
  /// Decides about the broadcast if members are known to be dead; if not set,
  /// `node_options::default_dead_members` does.
  std::optional<dead_members> dead{};
  /// Decides about the broadcast when a member is lost or fails.
  failure_policy on_failure = degrade;
  /// Says when the await ends: when every member is settled, or as soon as so many members are merged, or so
  /// many cannot be merged any more (`incomplete`). Then `ok()` means that the condition holds, the value
  /// consists of the members that are merged by then, and the outcome calls the others `pending` as far as
  /// they are not settled. `finish` runs at the root alone. Errors: `invalid_argument` (no member, or more
  /// than the broadcast is for), `unsupported` (together with bulk data).
  end_condition until = everyone;
  /// Decides about the members that are pending then.
  stragglers rest = stragglers::go_on;
  /// For a broadcast to `group::alive()`. If true, members that see a different set of live members than this
  /// node do not execute (`view_differs`). If false, they execute, and the outcome counts them as dissenting.
  bool same_view = false;
  /// Makes this the last broadcast of this node to the group. It leaves when this node's earlier broadcasts
  /// to the group have ended, and later ones end with `stale`. If this node has created the group, the last
  /// broadcast ends the group as well, as `node::destroy` does: here when it has ended, on each member when
  /// it has ended there. Members that it does not reach, or that it is not for, are told later. A last
  /// broadcast that sends nothing, because it is refused or its time is over, changes nothing. Adopted groups
  /// refuse it (`unsupported`): nobody has created them.
  bool last = false;
  /// Has the members note when they did what, for `bcast_result::trace`. It costs about 14 bytes for each
  /// member and 6 for each child in the answers, and changes nothing else.
  bool trace = false;
  /// Bytes that reach every member beside the request (docs/collectives.md). They must stay valid and
  /// unchanged until the broadcast has ended. The service takes them with `bcast_context::receive_bulk`.
  bulk_view bulk{};
  /// The routes of these bytes; if not set, those that the group or the node has pinned, else those with the
  /// least predicted time.
  std::optional<scoll::bulk_plan> bulk_plan{};
  /// Bytes of the pieces in which they travel: a power of two from 64 KiB to 1 MiB; 0: those with the least
  /// predicted time.
  std::uint32_t bulk_piece_bytes = 0;
  /// The time that the bytes may take, in addition to that of the request; 0: one second, and the time that
  /// they take at `node_options::bulk_least_rate`. It is not used with a deadline.
  nanoseconds bulk_time{0};
  /// The most bytes of items, encoded, that a broadcast collects of members that stream their replies. It is
  /// not used by `gather`.
  std::size_t collect_limit = std::size_t{64} << 20;
};
static_assert(std::is_trivially_copyable_v<bcast_options>);

/// Says how long a group lives, unless it is destroyed.
enum class lifetime : std::uint8_t {
  creator,  ///< it ends with the life of the node that created it
  members,  ///< it outlives its creator; not for delayed groups
};

/// Says when the members of a new group are told of it.
enum class populate : std::uint8_t {
  immediate,  ///< all members are told before `create_group` returns
  delayed,    ///< each member is told with the first broadcast that reaches it
};

/// Says how the members of a new group travel.
enum class membership_form : std::uint8_t {
  automatic,    ///< in the message if they fit, else as a descriptor of memory from which they are pulled
  inline_only,  ///< in the message; a membership that does not fit is refused
};
inline constexpr membership_form inline_only = membership_form::inline_only;

/// Options of a group. Trivially copyable.
struct group_options {
  /// The tree that broadcasts use; if not set, the node's default.
  std::optional<tree_spec> tree{};
  /// The time for the creation. Without a limit, the cascading timeouts of the library's own service apply.
  time_limit deadline = std::chrono::seconds(10);
  /// Says whether the group ends when its creator dies.
  scoll::lifetime lifetime = scoll::lifetime::creator;
  /// Says when the members are told of the group.
  scoll::populate populate = scoll::populate::immediate;
  /// Says how the members travel. It binds every node that holds the group.
  membership_form membership = membership_form::automatic;
  /// A group that this node holds and that has all members of the new one: the new group ends on each member
  /// when that one ends there. It must not be a group whose members a service names.
  std::optional<group_id> within{};
  /// A name for errors and status pages, at most 32 bytes. It travels with the creation.
  group_name name{};
  /// The costs by which broadcasts from here choose the plan for their bulk data; if not set, the node's
  /// (`node_options::bulk_costs`). See also `group::use_bulk_costs`.
  std::optional<scoll::bulk_costs> bulk_costs{};
  /// The plan for the bulk data of broadcasts from here that name none, instead of a choice by costs; if not
  /// set, the node's (`node_options::bulk_plan`). It is not used for a service with a `bulk_window` whose
  /// pieces it cannot let pass.
  std::optional<scoll::bulk_plan> bulk_plan{};
};
static_assert(std::is_trivially_copyable_v<group_options>);

}  // namespace scoll
