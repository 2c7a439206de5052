#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"
#include "transport/memory/region_descriptor.hpp"

namespace scoll::transport {

class endpoint;

/// Options of one transfer. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct transfer_options {
  time_limit deadline{};            ///< for the whole transfer
  stop_token stop{};                ///< asked to stop, it ends with `cancelled`
  std::uint32_t window = 0;         ///< segments on their way at once; 0: the endpoint's `transfer_window`
  std::uint32_t segment_bytes = 0;  ///< at most 1 MiB; 0: the endpoint's `transfer_segment_bytes`
  bool checked = false;             ///< an XXH3 with every segment, checked on arrival
};
static_assert(std::is_trivially_copyable_v<transfer_options>);

/// How a `put` ended: a `status` that also knows whether the peer's memory may have changed.
class push_status : public status {
 public:
  push_status(const status& ended, bool may_have_written) noexcept
      : status(ended), may_have_written_(may_have_written) {}

  /// False: no byte of the region was written, nor will be. After a success it is true. After a failure, true
  /// says that some of the range may have been written, and that segments still on their way may be until the
  /// region is no longer exposed.
  bool may_have_written() const noexcept { return may_have_written_; }

 private:
  bool may_have_written_;
};

/// Copies `into.size()` bytes of a peer's region, from `offset` on, into local memory. Starts when it
/// is awaited, on the executor of `at`; cut in segments, a bounded number of them under way, on the bulk
/// lane. When the await returns, however it ends, nothing touches `into` any more; after a failure what it
/// holds is unspecified.
///
/// Nothing is copied on its way but by the kernel. What the wire altered is TCP's business, unless
/// `transfer_options::checked` asks for checksums (segments of up to 8 KiB always have theirs).
///
/// Errors: `stale_descriptor`; `invalid_argument` (range, access, this node's own region); `not_found` (no
/// such peer or region); `deadline_exceeded`, `cancelled`; what ends a session (`connection_lost`,
/// `unreachable`, `peer_rebooted`, `closed`); `busy` (too many exchanges with the peer);
/// `checksum_mismatch` (altered on its way, or changed while it was sent).
task<status> get(endpoint& at, region_descriptor from, std::uint64_t offset, std::span<std::byte> into,
                 transfer_options options = {});
/// Into several pieces of memory, one after the other. The list must live until the await returns.
task<status> get(endpoint& at, region_descriptor from, std::uint64_t offset,
                 std::span<const std::span<std::byte>> into, transfer_options options = {});

/// Copies `from` to a peer's region at `offset`; in what order bytes get there is not stated. They are there
/// when it succeeds. When the await returns, nothing reads `from` any more. Errors as for `get`.
task<push_status> put(endpoint& at, region_descriptor to, std::uint64_t offset,
                     std::span<const std::byte> from, transfer_options options = {});
task<push_status> put(endpoint& at, region_descriptor to, std::uint64_t offset,
                     std::span<const std::span<const std::byte>> from, transfer_options options = {});

}  // namespace scoll::transport
