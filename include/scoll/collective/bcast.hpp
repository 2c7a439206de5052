#pragma once

#include <coroutine>
#include <optional>
#include <type_traits>
#include <utility>

#include "scoll/collective/group.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/outcome.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/detail/broadcast.hpp"
#include "scoll/detail/service_table.hpp"
#include "scoll/detail/unsafe_temporary.hpp"

namespace scoll {

/// What a broadcast gives: a status, the merged value if there is one, and the account of every member. It is
/// used as a `result`, except that a partial answer is data: there may be a value and an error at once.
template <class Reply>
class bcast_result {
 public:
  bcast_result(scoll::status s, std::optional<Reply> value, scoll::outcome o)
      : status_(s), value_(std::move(value)), outcome_(std::move(o)) {}

  /// True if every member executed and is merged. Then there is a value.
  bool ok() const noexcept { return status_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const scoll::status& status() const noexcept { return status_; }
  /// Why this is not `ok()`. Empty if it is.
  const scoll::error& error() const noexcept { return status_.error(); }
  const scoll::outcome& outcome() const noexcept { return outcome_; }

  /// True if the replies of some members are merged, though perhaps not of all.
  bool has_value() const noexcept { return value_.has_value(); }
  /// The merged reply. A partial one is available too, so test `ok()` where only a whole one counts. Without
  /// any, `value` throws `failure` with `error()`; the operators require `has_value()`.
  Reply& value() & { return checked(*this); }
  const Reply& value() const& { return checked(*this); }
  Reply&& value() && { return std::move(checked(*this)); }
  Reply& operator*() & noexcept { return get(*this); }
  const Reply& operator*() const& noexcept { return get(*this); }
  Reply&& operator*() && noexcept { return std::move(get(*this)); }
  Reply* operator->() noexcept { return &get(*this); }
  const Reply* operator->() const noexcept { return &get(*this); }

  /// Says that whether this succeeded makes no difference to the caller.
  void ignore() const noexcept {}

 private:
  template <class Self>
  static auto& get(Self& self) noexcept {
    if (!self.value_) [[unlikely]]
      detail::no_value(self.error());
    return *self.value_;
  }
  template <class Self>
  static auto& checked(Self& self) {
    if (!self.value_) throw failure(self.error());
    return *self.value_;
  }

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
      : broadcast_(g, detail::table_of<S>, &request, options) {}

  bool await_ready() noexcept { return !broadcast_.ready(); }
  void await_suspend(std::coroutine_handle<> waiter) { broadcast_.start(waiter); }
  bcast_result<reply> await_resume() {
    std::optional<reply> value;
    if (auto* merged = static_cast<reply*>(broadcast_.value())) value.emplace(std::move(*merged));
    return {broadcast_.result_status(), std::move(value), broadcast_.take_outcome()};
  }

 private:
  detail::broadcast broadcast_;
};

/// Broadcasts `request` to every member of `g`, this node included, and merges their replies:
/// `co_await scoll::bcast(group, request, options)` gives a `bcast_result`. Each member executes at most
/// once. The request, at most 4,096 bytes encoded, is encoded before this call returns.
///
/// Always ends: by the answer, the deadline, the loss of the members' connections, or the stop token. What
/// can be seen at once fails at once, with everybody `not_reached`: `too_large` (naming both sizes), `busy`,
/// `unknown_service`, `unknown_group` (destroyed), `closed`, `deadline_exceeded` (too short for the depth),
/// `unknown_tree`, `peer_died` (members are known to be dead, and named; see `dead_members`), and of a subset
/// `not_member` (this node is not in it), `invalid_argument`; `invalid_argument` too for a group that was made
/// by default, whose outcome has no members.
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
