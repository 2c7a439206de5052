#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/collective/bulk_data.hpp"
#include "scoll/collective/group.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/collective/trace.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/detail/broadcast.hpp"
#include "scoll/detail/rest_of_broadcast.hpp"
#include "scoll/detail/service_table.hpp"
#include "scoll/detail/status_and_value.hpp"
#include "scoll/detail/unsafe_temporary.hpp"

namespace scoll {

/// The result of a broadcast: a status, the merged value if there is one, and the outcome of every member. It
/// is used like a `result`, except that it may hold a value and an error at once, because a partial answer is
/// data. `ok()` means that every member executed and its reply is merged, or that the condition of `until`
/// holds; then there is a value.
/// `has_value()` means that replies are merged, though perhaps not those of all members.
template <class Reply>
class bcast_result : public detail::status_and_value<Reply> {
 public:
  bcast_result(scoll::status s, std::optional<Reply> value, scoll::outcome o,
               std::optional<bulk_report> bulk = {},
               std::shared_ptr<detail::rest_of_broadcast> rest = nullptr,
               std::shared_ptr<const collective_trace> trace = nullptr)
      : detail::status_and_value<Reply>(s, std::move(value)),
        outcome_(std::move(o)),
        bulk_(bulk),
        rest_(std::move(rest)),
        trace_(std::move(trace)) {}

  const scoll::outcome& outcome() const noexcept { return outcome_; }
  /// Waits until every member is settled: `co_await r.rest()` gives the final outcome. The value stays as it
  /// is, so members that are settled later than the await ended are `executed` at best, never `merged`.
  /// Without `bcast_options::until` it is the outcome above, at once. The broadcast ends by its limit or with
  /// its group or this node, whether or not somebody waits for it. The task may outlive this object, but
  /// not the node. Thread: the node's.
  task<scoll::outcome> rest() const { return detail::await_rest(rest_, outcome_); }
  /// The plan of the broadcast's bulk data, and its predicted and real time. Nothing if there was no bulk
  /// data, or if the broadcast was refused before anything was sent.
  const std::optional<bulk_report>& bulk() const noexcept { return bulk_; }
  /// The times at which members did what, as far as their answers have come; empty without
  /// `bcast_options::trace`, and for a broadcast that was refused. After `rest` it holds what has come since.
  /// It lives as long as this object. Thread: the node's, until the broadcast has ended.
  const collective_trace& trace() const noexcept { return trace_ != nullptr ? *trace_ : no_trace(); }

 private:
  static const collective_trace& no_trace() noexcept {
    static const collective_trace none;
    return none;
  }

  scoll::outcome outcome_;
  std::optional<bulk_report> bulk_;
  std::shared_ptr<detail::rest_of_broadcast> rest_;
  std::shared_ptr<const collective_trace> trace_;
};

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
bcast_awaiter<S> bcast(const group<S>& g, const std::type_identity_t<detail::request_t<S>>& request,
                       const bcast_options& options = {}) {
  return {g, request, options};
}

/// GCC 12 would destroy a temporary request that owns memory twice beside `co_await`, so this overload
/// refuses it: name the request first, or give its type a constructor.
template <collective_service S>
  requires detail::unsafe_temporary<detail::request_t<S>>
bcast_awaiter<S> bcast(const group<S>& g, std::type_identity_t<detail::request_t<S>>&& request,
                       const bcast_options& options = {}) = delete;

}  // namespace scoll
