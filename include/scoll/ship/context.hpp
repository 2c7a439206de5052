#pragma once

#include <cstdint>

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

/// What a handler may ask about the call it serves. Lives until the handler has returned.
///
/// It can be passed where a nested operation takes options, as in `co_await pull(node, d, 0, into, context)`:
/// the operation then has this time limit and stop token, and its defaults otherwise.
class call_context : public detail::converts_to_options<call_context> {
 public:
  call_context(const call_context&) = delete;
  call_context& operator=(const call_context&) = delete;

  /// Who asked, and in which life.
  node_id caller() const noexcept;
  std::uint64_t caller_incarnation() const noexcept;
  /// True if nobody waits for a result (`notify`).
  bool notification() const noexcept;
  /// The point in time at which the caller gives up; no limit if it set none. It fits the `deadline` of
  /// nested operations; `remaining().left(now)` is the duration.
  time_limit remaining() const noexcept;
  /// Fires when nobody waits for the result any more: cancelled, past its time, the caller is gone, or this
  /// node shuts down.
  stop_token stop() const noexcept;

  executor& get_executor() const noexcept;
  /// For work that burns CPU: `co_await call.pool().run("name", function)`.
  worker_pool& pool() const;

 private:
  friend class detail::server_call;
  explicit call_context(detail::server_call& of) noexcept : handling_(of) {}
  ~call_context() = default;

  detail::server_call& handling_;
};

}  // namespace scoll
