#pragma once

#include <coroutine>
#include <string>
#include <type_traits>
#include <utility>

#include "scoll/coro/deadline.hpp"
#include "scoll/coro/task.hpp"
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

/// Finds out which node is at an address, and makes it known to `from` if it is not: `co_await
/// scoll::find_server(node, "tcp://10.0.0.3:7001")` gives its id. The node there must know this one, or this
/// one must be a client. Errors: `invalid_argument` (what cannot be an address), `unreachable`,
/// `wrong_cluster`, `version_mismatch`, `cancelled`, `closed`.
task<result<node_id>> find_server(node& from, std::string address, stop_token stop = {});

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

namespace detail {

template <class In, class Out>
task<ship_result<Out>> ship_to_address(node& from, std::string address, const remote_function<In, Out>& f,
                                       In argument, ship_options options, bool notification) {
  deadline_stop patience(options.deadline.from(executor::current().now()), options.stop);
  options.deadline = options.deadline.from(executor::current().now());
  const auto there = co_await find_server(from, std::move(address), patience.token());
  if (!there) co_return ship_result<Out>(patience.explain(there.error()), false);
  auto ended = co_await ship_awaiter<Out>(from, *there, f.key(), argument, notification, options);
  co_return ended;
}

}  // namespace detail

/// Calls `f` on the node at an address, which need not be known here (`find_server`): `co_await
/// scoll::ship(node, "tcp://10.0.0.3:7001", f, argument)`. The time to find out who is there counts towards
/// the deadline. Where speed counts, keep the id that `find_server` gives. Errors: also those of
/// `find_server`.
template <class In, class Out>
task<ship_result<Out>> ship(node& from, std::string address, const remote_function<In, Out>& f,
                            const std::type_identity_t<In>& argument, const ship_options& options = {}) {
  return detail::ship_to_address(from, std::move(address), f, In(argument), options, false);
}

/// Likewise, for a function that takes no argument.
template <class Out>
task<ship_result<Out>> ship(node& from, std::string address, const remote_function<nothing, Out>& f,
                            const ship_options& options = {}) {
  return detail::ship_to_address(from, std::move(address), f, nothing{}, options, false);
}

/// Likewise, without waiting for the result.
template <class In>
task<ship_result<nothing>> notify(node& from, std::string address, const remote_function<In, nothing>& f,
                                  const std::type_identity_t<In>& argument,
                                  const ship_options& options = {}) {
  return detail::ship_to_address(from, std::move(address), f, In(argument), options, true);
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
template <class In, class Out>
  requires detail::unsafe_temporary<In>
task<ship_result<Out>> ship(node& from, std::string address, const remote_function<In, Out>& f,
                            std::type_identity_t<In>&& argument, const ship_options& options = {}) = delete;
template <class In>
  requires detail::unsafe_temporary<In>
task<ship_result<nothing>> notify(node& from, std::string address, const remote_function<In, nothing>& f,
                                  std::type_identity_t<In>&& argument,
                                  const ship_options& options = {}) = delete;

}  // namespace scoll
