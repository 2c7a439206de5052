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

namespace detail {
class any_group;
}

/// The group through which a call is made, or none. It refers to the caller's `group`, which must stay valid
/// until `ship` or `notify` has returned; the group may be gone when the call is awaited.
class within_group {
 public:
  constexpr within_group() noexcept = default;
  constexpr within_group(const detail::any_group& g) noexcept : group_(&g) {}
  within_group(const detail::any_group&&) = delete;

  constexpr const detail::any_group* get() const noexcept { return group_; }

 private:
  const detail::any_group* group_ = nullptr;
};

/// Options of one shipped call. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct ship_options {
  /// The time from the start of the await to its end, waiting included. The peer is told how much is left.
  /// Without a limit the node's default counts (`ship_limits::default_deadline`); without that either, the
  /// call ends by its result or with its peer. A limit that is over fails the call at once.
  time_limit deadline{};
  /// When this token fires, the call ends with `cancelled`, and the handler's stop token fires.
  stop_token stop{};
  /// The limit on calls in flight that this call waits for; null if only the peer limits calls. The limit
  /// must outlive the await.
  call_limit* limit = nullptr;
  /// The call is made through this group: when the group is revoked, the call ends with `revoked`, and a call
  /// through a revoked group does not begin. The peer need not be a member.
  within_group within{};
};
static_assert(std::is_trivially_copyable_v<ship_options>);

/// The bounds of a node's function shipper. They bound memory on both sides.
struct ship_limits {
  static constexpr std::size_t least_eager_bytes = 512;

  /// The limit of this node's calls whose options name none.
  time_limit default_deadline{};
  /// The number of handlers that run at once; further calls are refused with `busy`. Peers share them fairly:
  /// a call is accepted while its peer has fewer handlers running than are free. So one peer alone gets half
  /// of them, and there is room for another.
  std::uint32_t handlers = 4096;
  /// The number of calls to one peer that wait to be sent; further calls fail with `busy`.
  std::uint32_t queue = 4096;
  /// Arguments and results of up to this many bytes travel in the message; larger ones are pulled. From
  /// `least_eager_bytes` to `transport::max_payload_bytes`.
  std::size_t eager_bytes = transport::max_payload_bytes;
  /// The size in bytes of the largest argument or result; larger ones are `too_large`.
  std::size_t large_bytes = std::size_t{64} << 20;
  /// The total size in bytes of all large arguments and results that handlers hold; beyond it calls are
  /// refused with `busy`.
  std::size_t large_memory = std::size_t{256} << 20;
  /// How long a large result is kept for a caller that does not fetch it.
  nanoseconds large_hold = std::chrono::seconds(30);

  status validate() const;
};

}  // namespace scoll
