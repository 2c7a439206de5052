#pragma once

#include <cstdint>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/ids.hpp"

namespace scoll {

namespace detail {
class server_call;
}

/// What a handler may ask about the call it serves. Lives until the handler has returned.
class call_context {
 public:
  call_context(const call_context&) = delete;
  call_context& operator=(const call_context&) = delete;

  /// Who asked, and in which life.
  node_id caller() const noexcept;
  std::uint64_t caller_incarnation() const noexcept;
  /// True if nobody waits for a result (`notify`).
  bool notification() const noexcept;
  /// Time until the caller gives up: `nanoseconds::max()` if it set no deadline, 0 when it is over.
  nanoseconds remaining() const noexcept;
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
