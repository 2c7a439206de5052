#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "scoll/collective/agree.hpp"
#include "scoll/collective/membership.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/any_group.hpp"
#include "scoll/detail/unsafe_temporary.hpp"
#include "scoll/ids.hpp"

namespace scoll {

/// A group, or some members of one, as its root or any member holds it; `bcast` is called on it. It is cheap
/// to copy and must not outlive its node. The tasks that it returns do not refer to it, but must not outlive
/// the node either. The group itself lives until `node::destroy`. A default-constructed group is empty: it
/// has no members, its subsets are empty too, and a broadcast to it is refused. The functions that do not
/// depend on `S`, such as `members`, `id` and `revoke`, are in `detail::any_group`
/// (scoll/detail/any_group.hpp).
template <class S>
class group : public detail::any_group {
 public:
  group() = default;
  explicit group(detail::any_group g) noexcept : any_group(std::move(g)) {}

  /// Narrows the members addressed to those in `ranks` (`only`) or to those not in `ranks` (`except`). The
  /// first broadcast reports a subset's errors: `invalid_argument` (no member is left, or ranks lie beyond
  /// the group), `too_large` (too many separate ranges for one message).
  group only(const rank_set& ranks) const { return group(narrowed_to(ranks)); }
  group except(const rank_set& ranks) const { return group(narrowed_by(ranks)); }
  /// Narrows the members addressed to those not known to be dead at this moment. Members compare this with
  /// their own view: see `outcome::dissenting` and `bcast_options::same_view`.
  group alive() const { return group(narrowed_to_living()); }
  /// `a & b` narrows the members addressed by `a` to those that `b` addresses too; `a - b` narrows them to
  /// those that `b` does not address. Both groups are this node's. The comparison is by node, so the groups
  /// may have different members in different orders. The result is a part of `a`. Nothing is sent.
  friend group operator&(const group& a, const group& b) { return group(a.meeting(b)); }
  friend group operator-(const group& a, const group& b) { return group(a.without(b)); }

  /// Gives a group of the same members that all of them hold. For a group that was created at once, it is
  /// that group itself. For any other group a new one is made, with a new id, as by `node::create_group`.
  /// A delayed or out-of-band group stays as it is beside the new one. Unless the options say otherwise, the
  /// new group has the tree, the name, the outer group (`within`), the form of membership, and the costs and
  /// plan of bulk data of this group.
  /// Errors: those of `node::create_group`, and `unknown_group` or `membership_changed` if this group has
  /// ended.
  task<result<group>> settle(group_options options = {}) const { return typed(settled(options)); }

  /// Agrees on one value with all members of the group, each of which makes the same call: `auto a = co_await
  /// g.agree(epoch, scoll::all_of{prepared}, {.deadline = 2s})`. The outcome is the merged value of all
  /// members except those in `failed()`. It is the same wherever the call succeeds, even on members that die
  /// afterwards. The callers choose the number `instance`. Numbers ascend: an instance that is 64 below
  /// another one may be closed. A call that ended without an outcome can be repeated; the value of the first
  /// call stays (docs/agreement.md).
  ///
  /// The value is encoded before this returns, to at most 1,024 bytes. Errors: `excluded` (it is decided, and
  /// this member's value is not in it: the others held it dead), `no_quorum` (half of the members or more are
  /// held dead), `undecided` (time ran out; it may have been decided, or still be), `stale` (the instance is
  /// closed, or its outcome is forgotten; or this member has sent its last broadcast to the group), `busy`
  /// (64 instances are open), `too_large` (of the value, or of the merged value), `malformed` (members agree
  /// on different types), `invalid_argument` (a part of a group, a group that is not known to all its
  /// members, another type or another quorum than before), `deadline_exceeded` (no time was left when it
  /// began), `cancelled`, `unknown_group` (the group was destroyed), `closed`. A revoked group can still
  /// agree.
  template <agreeable T>
  task<agreed<T>> agree(std::uint64_t instance, const T& value, const agree_options& options = {}) const {
    return detail::read_agreed<T>(
        agree_encoded(instance, detail::encode_agreed(value), &detail::merge_agreed<T>, options));
  }
  /// GCC 12 would destroy a temporary value that owns memory twice beside `co_await`: name it first.
  template <class T>
    requires detail::unsafe_temporary<T>
  task<agreed<T>> agree(std::uint64_t instance, T&& value, const agree_options& options = {}) const = delete;

  /// Makes a group of the members that are left: `auto plan_b = co_await g.shrink()`. Each member makes the
  /// same call, and all of them get the same group. Its members are those that have called and are not held
  /// dead, in their old order; its tree and its service are those of this group. It does not end with a
  /// member's death. A group is shrunk once: a later call gives the same group. To leave out members that die
  /// later, shrink the new group. This group stays as it is; destroy it when all survivors have the new one
  /// (docs/agreement.md). A revoked group can be shrunk.
  ///
  /// Errors: `excluded` (the others have gone on without this member, which they held dead), `no_quorum`
  /// (half of the members or more are held dead), `undecided` (time ran out; the group may exist, and a
  /// further call finds it), `invalid_argument` (a part of a group, a group that is not known to all its
  /// members, another quorum than before), `stale` (this member has sent its last broadcast to the group),
  /// `unknown_group` (this group, or the new one, was destroyed), `deadline_exceeded` (no time was left when
  /// it began), `cancelled`, `closed`.
  task<result<group>> shrink(const agree_options& options = {}) const { return typed(shrink_any(options)); }

 private:
  static task<result<group>> typed(task<result<detail::any_group>> work) {
    auto made = co_await std::move(work);
    if (!made) co_return made.error();
    co_return group(std::move(*made));
  }
};

}  // namespace scoll
