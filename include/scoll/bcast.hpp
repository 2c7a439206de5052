#pragma once

#include <coroutine>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "detail/operation.hpp"
#include "detail/unsafe_temporary.hpp"
#include "group.hpp"
#include "options.hpp"
#include "outcome.hpp"
#include "service.hpp"

namespace scoll {

/// What a broadcast gives: a status, the merged value if there is one, and the account of every member
/// (`C10`). A partial answer is data: `ok()` only if every member executed and is merged.
template <class Reply>
class bcast_result {
 public:
  bcast_result(scoll::status s, std::optional<Reply> value, scoll::outcome o)
      : status_(s), value_(std::move(value)), outcome_(std::move(o)) {}

  bool ok() const noexcept { return status_.has_value(); }
  const scoll::status& status() const noexcept { return status_; }
  const scoll::outcome& outcome() const noexcept { return outcome_; }

  bool has_value() const noexcept { return value_.has_value(); }
  Reply& operator*() noexcept { return *value_; }
  const Reply& operator*() const noexcept { return *value_; }
  Reply* operator->() noexcept { return &*value_; }
  const Reply* operator->() const noexcept { return &*value_; }

 private:
  scoll::status status_;
  std::optional<Reply> value_;
  scoll::outcome outcome_;
};

/// Awaits one broadcast. The request was encoded when it was made, so nothing of the caller's is referred to.
template <collective_service S>
class [[nodiscard]] bcast_awaiter {
  using reply = detail::reply_t<S>;

 public:
  bcast_awaiter(const group<S>& g, const detail::request_t<S>& request, const bcast_options& options)
      : group_(g),
        begun_(g.get_engine().begin_broadcast(g.to(), detail::table_of<S>, &request, options)),
        stop_(options.stop) {}
  bcast_awaiter(const bcast_awaiter&) = delete;
  bcast_awaiter& operator=(const bcast_awaiter&) = delete;
  ~bcast_awaiter() {
    if (begun_.op == nullptr) return;
    if (!started_) begun_.op->abandon();
    group_.get_engine().release(*begun_.op);
  }

  bool await_ready() const noexcept { return begun_.op == nullptr; }
  void await_suspend(std::coroutine_handle<> waiter) {
    started_ = true;
    begun_.op->start(waiter, stop_);
  }
  bcast_result<reply> await_resume() {
    if (begun_.op == nullptr) return nothing_sent();
    std::optional<reply> value;
    if (auto* merged = static_cast<reply*>(begun_.op->value())) value.emplace(std::move(*merged));
    return {begun_.op->result_status(), std::move(value), begun_.op->take_outcome()};
  }

 private:
  bcast_result<reply> nothing_sent() const {
    return {begun_.reason, std::nullopt, group_.get_engine().nothing_sent(group_.to(), begun_.reason)};
  }

  group<S> group_;
  detail::begun begun_;
  stop_token stop_;
  bool started_ = false;
};

/// Broadcasts `request` to every member of `g`, this node included, and merges their replies (`C8`):
/// `co_await scoll::bcast(group, request, options)` gives a `bcast_result`. Each member executes at most
/// once. The request, at most 4,096 bytes encoded, is encoded before this call returns.
///
/// Always ends: by the answer, the deadline, the loss of the members' connections, or the stop token. What
/// can be seen at once fails at once, with everybody `not_reached`: `too_large` (naming both sizes), `busy`,
/// `unknown_service`, `unknown_group` (destroyed), `closed`, `deadline_exceeded` (too short for the depth),
/// `unknown_tree`, `peer_died` (members are known to be dead, and named; see `dead_members`), and of a subset
/// `not_member` (this node is not in it), `invalid_argument`.
template <collective_service S>
bcast_awaiter<S> bcast(const group<S>& g, const std::type_identity_t<detail::request_t<S>>& request,
                       const bcast_options& options = {}) {
  return {g, request, options};
}

/// A temporary request that owns memory cannot be passed beside `co_await` with GCC 12 (it would be destroyed
/// twice): name it first, or give its type a constructor.
template <collective_service S>
  requires detail::unsafe_temporary<detail::request_t<S>>
bcast_awaiter<S> bcast(const group<S>& g, std::type_identity_t<detail::request_t<S>>&& request,
                       const bcast_options& options = {}) = delete;

}  // namespace scoll
