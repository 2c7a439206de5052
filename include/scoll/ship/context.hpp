#pragma once

#include <cstdint>

#include "scoll/coro/executor.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/worker_pool.hpp"
#include "scoll/ids.hpp"

namespace scoll {

namespace detail {
class handling;
}

/// What a handler may ask about the call it serves. Lives until the handler has returned.
class ship_call {
 public:
  ship_call(const ship_call&) = delete;
  ship_call& operator=(const ship_call&) = delete;

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
  friend class detail::handling;
  explicit ship_call(detail::handling& of) noexcept : handling_(of) {}
  ~ship_call() = default;

  detail::handling& handling_;
};

}  // namespace scoll
