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

/// The result of a broadcast: a status, the merged value if there is one, and the outcome of every member. It
/// is used like a `result`, except that it may hold a value and an error at once, because a partial answer is
/// data.
template <class Reply>
class bcast_result {
 public:
  bcast_result(scoll::status s, std::optional<Reply> value, scoll::outcome o)
      : status_(s), value_(std::move(value)), outcome_(std::move(o)) {}

  /// True if every member executed and its reply is merged. Then there is a value.
  bool ok() const noexcept { return status_.has_value(); }
  explicit operator bool() const noexcept { return ok(); }
  const scoll::status& status() const noexcept { return status_; }
  /// The reason why this is not `ok()`; empty if it is.
  const scoll::error& error() const noexcept { return status_.error(); }
  const scoll::outcome& outcome() const noexcept { return outcome_; }

  /// True if replies are merged, though perhaps not those of all members.
  bool has_value() const noexcept { return value_.has_value(); }
  /// The merged reply. A partial reply is available too: test `ok()` where only a complete one counts. If
  /// there is none, `value` throws `failure` with `error()`. The operators require `has_value()`.
  Reply& value() & { return checked(*this); }
  const Reply& value() const& { return checked(*this); }
  Reply&& value() && { return std::move(checked(*this)); }
  Reply& operator*() & noexcept { return get(*this); }
  const Reply& operator*() const& noexcept { return get(*this); }
  Reply&& operator*() && noexcept { return std::move(get(*this)); }
  Reply* operator->() noexcept { return &get(*this); }
  const Reply* operator->() const noexcept { return &get(*this); }

  /// States that success or failure makes no difference to the caller.
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
    return {broadcast_.result_status(), std::move(value), broadcast_.take_outcome()};
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
/// and `peer_died` (members are known to be dead, and named; see `dead_members`). A broadcast to a subset can
/// also fail with `not_member` (this node is not in the subset) or `invalid_argument`. A default-constructed
/// group fails with `invalid_argument`, and its outcome has no members.
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
