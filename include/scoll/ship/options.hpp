#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"
#include "transport/session/frame.hpp"

namespace scoll {

class call_limit;

/// Options of one shipped call. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct ship_options {
  /// Time from the start of the await to its end, waiting included; the peer is told what is left. Without a
  /// limit, that of the node counts (`ship_limits::deadline`); if there is none either, the call ends by its
  /// result or with its peer. A limit that is over fails the call at once.
  time_limit deadline{};
  /// Asked to stop, the call ends with `cancelled`, and the handler's stop token fires.
  stop_token stop{};
  /// Waits for its turn if so many are in flight; must outlive the await. Null: no limit but the peer's.
  call_limit* limit = nullptr;
};
static_assert(std::is_trivially_copyable_v<ship_options>);

/// Bounds of a node's function shipper: memory is bounded by them on both sides.
struct ship_limits {
  static constexpr std::size_t least_eager_bytes = 512;

  /// For calls of this node whose options name no limit.
  time_limit deadline{};
  /// Handlers that run at once; more calls are `busy`. Shared fairly: a peer's call is taken while it has
  /// fewer running than are free, so one alone gets half, and there is room for another.
  std::uint32_t handlers = 4096;
  /// Calls to one peer that wait to be sent; more are `busy`.
  std::uint32_t queue = 4096;
  /// Arguments and results up to this travel in the message, `least_eager_bytes` to
  /// `transport::max_payload_bytes`; larger ones are pulled.
  std::size_t eager_bytes = transport::max_payload_bytes;
  /// The largest argument or result; larger ones are `too_large`.
  std::size_t large_bytes = std::size_t{64} << 20;
  /// Of all large arguments and results that handlers hold; more are `busy`.
  std::size_t large_memory = std::size_t{256} << 20;
  /// For how long a large result is kept for a caller that does not fetch it.
  nanoseconds large_hold = std::chrono::seconds(30);

  status validate() const;
};

}  // namespace scoll
