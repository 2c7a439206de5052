#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"
#include "scoll/node.hpp"
#include "transport/memory/memory_region.hpp"
#include "transport/memory/region_descriptor.hpp"
#include "transport/memory/transfer.hpp"

namespace scoll {

using transport::memory_access;

/// Exposed memory of this node, RAII: its end ends the exposure.
using bulk_handle = transport::memory_region;
/// What a peer needs to pull or push: a wire type of 38 bytes, however many segments the memory has, since
/// these count as one linear range. It goes into requests and replies as any other member.
using bulk_descriptor = transport::region_descriptor;
/// How a `push` ended: a `status` with `may_have_written()`.
using push_status = transport::push_status;

/// Options of one pull or push. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct bulk_options {
  time_limit deadline{};    ///< for the whole of it
  stop_token stop{};        ///< asked to stop, it ends with `cancelled`
  std::uint32_t chunk = 0;  ///< bytes that travel as one message; 0: the node's `transfer_segment_bytes`
  std::uint32_t depth = 0;  ///< chunks on their way at once; 0: the node's `transfer_window`
  bool verify = false;      ///< an XXH3 with every chunk, checked on arrival: `checksum_mismatch`

  operator transport::transfer_options() const noexcept { return {deadline, stop, depth, chunk, verify}; }
};
static_assert(std::is_trivially_copyable_v<bulk_options>);

/// Lets peers read `memory`, or as `access` says, until the handle ends. The bytes stay the caller's. Any
/// number of segments counts as one linear range. Errors: `busy` (too many regions), `invalid_argument` (not
/// a valid access mode).
inline result<bulk_handle> expose(node& at, std::span<const std::byte> memory) {
  return bulk_handle::expose(at.wire(), memory);
}
inline result<bulk_handle> expose(node& at, std::span<std::byte> memory, memory_access access) {
  return bulk_handle::expose(at.wire(), memory, access);
}
inline result<bulk_handle> expose(node& at, std::span<const std::span<const std::byte>> segments) {
  return bulk_handle::expose(at.wire(), segments);
}
inline result<bulk_handle> expose(node& at, std::span<const std::span<std::byte>> segments,
                                  memory_access access) {
  return bulk_handle::expose(at.wire(), segments, access);
}

/// Copies `into.size()` bytes of a peer's memory, from `offset` on, into local memory. When the await
/// returns, however it ends, nothing touches `into` any more; after a failure what it holds is unspecified.
///
/// Errors: `stale_descriptor` (no longer exposed); `invalid_argument` (range, access, this node's own
/// memory); `not_found` (no such peer or region); `checksum_mismatch`; `deadline_exceeded`, `cancelled`; what
/// ends a session (`connection_lost`, `unreachable`, `peer_rebooted`, `closed`); `busy`.
inline task<status> pull(node& at, const bulk_descriptor& from, std::uint64_t offset,
                         std::span<std::byte> into, bulk_options options = {}) {
  return transport::get(at.wire(), from, offset, into, options);
}
/// Into several pieces of memory, one after the other. The list itself must live until the await returns.
inline task<status> pull(node& at, const bulk_descriptor& from, std::uint64_t offset,
                         std::span<const std::span<std::byte>> into, bulk_options options = {}) {
  return transport::get(at.wire(), from, offset, into, options);
}

/// Copies `from` to a peer's memory at `offset`. When the await returns, nothing reads `from` any more.
/// Errors as for `pull`.
inline task<push_status> push(node& at, const bulk_descriptor& to, std::uint64_t offset,
                              std::span<const std::byte> from, bulk_options options = {}) {
  return transport::put(at.wire(), to, offset, from, options);
}
inline task<push_status> push(node& at, const bulk_descriptor& to, std::uint64_t offset,
                              std::span<const std::span<const std::byte>> from, bulk_options options = {}) {
  return transport::put(at.wire(), to, offset, from, options);
}

}  // namespace scoll
