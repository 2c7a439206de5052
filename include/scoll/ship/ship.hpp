#pragma once

#include <coroutine>
#include <type_traits>
#include <utility>

#include "scoll/detail/client_call.hpp"
#include "scoll/detail/unsafe_temporary.hpp"
#include "scoll/node.hpp"
#include "scoll/ship/call_limit.hpp"
#include "scoll/ship/options.hpp"
#include "scoll/ship/remote_function.hpp"
#include "scoll/ship/result.hpp"

namespace scoll {

/// Awaits one call. The argument was encoded when the awaiter was made, so the awaiter refers to nothing of
/// the caller's.
template <class Out>
class [[nodiscard]] ship_awaiter {
 public:
  template <class In>
  ship_awaiter(node& from, node_id to, const detail::function_key& function, const In& argument,
               bool notification, const ship_options& options) noexcept
      : call_(from, to, function, notification, options) {
    if constexpr (wire::has_fixed_size<Out>) call_.expect_bytes(wire::fixed_size<Out>);
    call_.encode(argument);
  }
  ship_awaiter(const ship_awaiter&) = delete;
  ship_awaiter& operator=(const ship_awaiter&) = delete;
  ~ship_awaiter() = default;

  bool await_ready() const noexcept { return call_.failed(); }
  bool await_suspend(std::coroutine_handle<> waiter) noexcept { return call_.begin(waiter); }
  ship_result<Out> await_resume() {
    if (call_.failed()) return {call_.failure(), call_.may_have_executed()};
    auto value = wire::decode_from<Out>(call_.result());
    return {std::move(value), call_.may_have_executed()};
  }

 private:
  detail::client_call call_;
};

/// Calls `f` on node `to`: `co_await scoll::ship(node, peer, f, argument, options)` gives a `ship_result`. It
/// holds the handler's result, or an error, and `may_have_executed` says whether the handler may have run.
/// The argument is encoded before this function returns; the call begins when it is awaited. The handler runs
/// at most once.
///
/// A call always ends: by the result or the handler's error, the deadline, the stop token, or the end of the
/// peer (`connection_lost`, `peer_rebooted`, `unreachable`, `closed`); docs/shipper.md has the table.
/// Arguments and results above the eager limit are pulled, up to `ship_limits::large_bytes` (`too_large`).
template <class In, class Out>
ship_awaiter<Out> ship(node& from, node_id to, const remote_function<In, Out>& f,
                       const std::type_identity_t<In>& argument, const ship_options& options = {}) noexcept {
  return {from, to, f.key(), argument, false, options};
}

/// Calls a function that takes no argument.
template <class Out>
ship_awaiter<Out> ship(node& from, node_id to, const remote_function<nothing, Out>& f,
                       const ship_options& options = {}) noexcept {
  return {from, to, f.key(), nothing{}, false, options};
}

/// Calls `f` on node `to` without waiting for its result: the await ends when the peer has accepted or
/// refused the call. The caller does not learn how the handler ended.
template <class In, class Out>
ship_awaiter<nothing> notify(node& from, node_id to, const remote_function<In, Out>& f,
                             const std::type_identity_t<In>& argument,
                             const ship_options& options = {}) noexcept {
  return {from, to, f.key(), argument, true, options};
}

/// GCC 12 would destroy a temporary argument that owns memory twice beside `co_await`, so this overload
/// refuses it: name the argument first, or give its type a constructor.
template <class In, class Out>
  requires detail::unsafe_temporary<In>
ship_awaiter<Out> ship(node& from, node_id to, const remote_function<In, Out>& f,
                       std::type_identity_t<In>&& argument, const ship_options& options = {}) = delete;
template <class In, class Out>
  requires detail::unsafe_temporary<In>
ship_awaiter<nothing> notify(node& from, node_id to, const remote_function<In, Out>& f,
                             std::type_identity_t<In>&& argument, const ship_options& options = {}) = delete;

}  // namespace scoll
