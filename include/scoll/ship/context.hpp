#pragma once

#include <cstdint>
#include <string_view>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/detail/nested_options.hpp"
#include "scoll/ids.hpp"

namespace scoll {

namespace detail {
class server_call;
}

/// The call that a handler serves, as the handler sees it. It lives until the handler has returned.
///
/// It can be passed where a nested operation takes options, as in `co_await pull(node, d, 0, into, context)`.
/// The operation then has this time limit and stop token, and defaults for everything else.
class call_context : public detail::converts_to_options<call_context> {
 public:
  call_context(const call_context&) = delete;
  call_context& operator=(const call_context&) = delete;

  /// The node that calls, and its incarnation.
  node_id caller() const noexcept;
  std::uint64_t caller_incarnation() const noexcept;
  /// The name of the calling client in its certificate; empty for nodes, and for clients that have shown none
  /// (`security.mode`). It is valid as long as the call.
  std::string_view caller_name() const noexcept;
  /// True if the caller waits for no result (`notify`).
  bool notification() const noexcept;
  /// The point in time at which the caller gives up; no limit if it set none. Use it as the `deadline` of
  /// nested operations; `remaining().left(now)` is the duration.
  time_limit remaining() const noexcept;
  /// Fires when nobody waits for the result any more: the call was cancelled, its time is over, the caller is
  /// gone, or this node is shutting down.
  stop_token stop() const noexcept;

  executor& get_executor() const noexcept;
  /// The pool for computations that would block the node's thread:
  /// `co_await call.pool().run("name", function)`.
  worker_pool& pool() const;

 private:
  friend class detail::server_call;
  explicit call_context(detail::server_call& of) noexcept : handling_(of) {}
  ~call_context() = default;

  detail::server_call& handling_;
};

}  // namespace scoll
