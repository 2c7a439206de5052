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

/// Options of one pull or push. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct transfer_options {
  /// Time for the whole transfer.
  time_limit deadline{};
  /// When a stop is requested, the transfer ends with `cancelled`.
  stop_token stop{};
  /// The most segments under way at once; 0 stands for the endpoint's `transfer_window`, which is also the
  /// most.
  std::uint32_t window = 0;
  /// Bytes of one segment, at most 1 MiB; 0 stands for the endpoint's `transfer_segment_bytes`.
  std::uint32_t segment_bytes = 0;
  /// Sends an XXH3 with every segment and compares it on arrival. A difference fails the transfer with
  /// `checksum_mismatch`.
  bool checked = false;
};
static_assert(std::is_trivially_copyable_v<transfer_options>);

/// How a `push` ended: a `status` that also knows whether the peer's memory may have changed.
class push_status : public status {
 public:
  push_status(const status& ended, bool may_have_written) noexcept
      : status(ended), may_have_written_(may_have_written) {}

  /// False: no byte of the region has been written, or will be. It is true after a success. After a failure,
  /// true means that a part of the range may have been written, and that segments still on their way may be
  /// written until the region is no longer exposed.
  bool may_have_written() const noexcept { return may_have_written_; }

 private:
  bool may_have_written_;
};

/// Copies `into.size()` bytes of a peer's region, from `offset` bytes on, into local memory. The transfer is
/// cut into segments, a bounded number of which are under way on the bulk lane. Only the kernel copies the
/// bytes. TCP guards them on the wire, and XXH3 checksums do too if `transfer_options::checked` asks for
/// them; segments of up to 8 KiB always have one.
///
/// Errors: `stale_descriptor` (no longer exposed); `invalid_argument` (range, access, or a region of this
/// node); `not_found` (no such peer or region); `deadline_exceeded`, `cancelled`; errors that end a session
/// (`connection_lost`, `unreachable`, `peer_rebooted`, `closed`); `busy` (too many exchanges with the peer);
/// `checksum_mismatch` (altered on its way, or changed while it was sent).
///
/// `into` must stay valid until the await returns. From then on nothing writes to it, even after a
/// cancellation. After a failure its content is unspecified. The transfer starts when it is awaited, on the
/// executor of `at`.
task<status> pull(endpoint& at, region_descriptor from, std::uint64_t offset, std::span<std::byte> into,
                  transfer_options options = {});
/// Fills several spans, one after the other. The list of spans must also stay valid until the await returns.
task<status> pull(endpoint& at, region_descriptor from, std::uint64_t offset,
                  std::span<const std::span<std::byte>> into, transfer_options options = {});

/// Copies `from` to a peer's region at `offset` bytes. Segments arrive in no particular order; after a
/// success all of them are there. Errors are those of `pull`. When the await returns, nothing reads `from`
/// any more.
task<push_status> push(endpoint& at, region_descriptor to, std::uint64_t offset,
                       std::span<const std::byte> from, transfer_options options = {});
task<push_status> push(endpoint& at, region_descriptor to, std::uint64_t offset,
                       std::span<const std::span<const std::byte>> from, transfer_options options = {});

}  // namespace scoll::transport
