#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/collective/bcast_result.hpp"
#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/gather.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/broadcast.hpp"
#include "scoll/detail/service_table.hpp"
#include "scoll/detail/unsafe_temporary.hpp"

namespace scoll {

/// Awaits one broadcast. The request was encoded when the awaiter was made, so the awaiter refers to nothing
/// of the caller's.
template <collective_service S>
class [[nodiscard]] bcast_awaiter {
  using reply = detail::reply_t<S>;

 public:
  bcast_awaiter(const group<S>& g, const detail::request_t<S>& request, const bcast_options& options)
      : broadcast_(g, detail::table_of<S>, &request, options) {}

  bool await_ready() noexcept { return !broadcast_.ready(); }
  void await_suspend(std::coroutine_handle<> waiter) { broadcast_.start(waiter); }
  bcast_result<reply> await_resume() {
    std::optional<reply> value;
    if (auto* merged = static_cast<reply*>(broadcast_.value())) value.emplace(std::move(*merged));
    const std::optional<bulk_report> bulk = broadcast_.bulk();
    return {broadcast_.result_status(), std::move(value),  broadcast_.take_outcome(), bulk,
            broadcast_.rest(),          broadcast_.trace()};
  }

 private:
  detail::broadcast broadcast_;
};

/// Broadcasts `request` to every member of `g`, this node included, and merges their replies:
/// `co_await scoll::bcast(group, request, options)` gives a `bcast_result`. Each member executes at most
/// once. The request is encoded before this call returns, to at most 4,096 bytes.
///
/// A broadcast always ends: by the answer, the deadline, the loss of the members' connections, or the stop
/// token. The following errors are found before anything is sent; the broadcast then fails at once, and every
/// member is `not_reached`: `too_large` (naming both sizes), `busy`, `unknown_service`, `unknown_group` (the
/// group was destroyed), `closed`, `deadline_exceeded` (too short for the depth of the tree), `unknown_tree`,
/// `revoked` (the group, or one that it is within, is revoked), `membership_changed` (the `members` hook
/// names other members now), `stale` (this node has sent its last broadcast to the group), `unsupported`
/// (`last`, and nobody has created the group), `cancelled` (the token had fired), and `peer_died` (members
/// are known to be dead, and named; see `dead_members`). A broadcast to a subset can also fail with
/// `not_member` (this node is not in the subset) or `invalid_argument`. A default-constructed group fails
/// with `invalid_argument`, and its outcome has no members.
template <collective_service S>
  requires(!detail::streams<S>)
bcast_awaiter<S> bcast(const group<S>& g, const std::type_identity_t<detail::request_t<S>>& request,
                       const bcast_options& options = {}) {
  return {g, request, options};
}

/// For a service that streams its reply: collects the items, of at most `bcast_options::collect_limit` bytes,
/// as `parts`. With more of them the broadcast ends early (`too_large`). Items of members that are not merged
/// are left out. The broadcast begins at once, and may also fail as `gather` does.
template <collective_service S>
  requires detail::streams<S>
task<bcast_result<detail::reply_t<S>>> bcast(const group<S>& g,
                                             const std::type_identity_t<detail::request_t<S>>& request,
                                             const bcast_options& options = {}) {
  return detail::collect<S>(gather(g, request, options), options.collect_limit);
}

/// GCC 12 would destroy a temporary request that owns memory twice beside `co_await`, so this overload
/// refuses it: name the request first, or give its type a constructor.
template <collective_service S>
  requires detail::unsafe_temporary<detail::request_t<S>>
bcast_awaiter<S> bcast(const group<S>& g, std::type_identity_t<detail::request_t<S>>&& request,
                       const bcast_options& options = {}) = delete;

}  // namespace scoll
