#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>

#include "scoll/bulk/bulk.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time_limit.hpp"

namespace scoll {

/// Options of one stream. Trivially copyable, so that a braced temporary is safe beside `co_await`.
struct stream_options {
  /// The time for the whole stream, from the first call of `next`.
  time_limit deadline{};
  /// When this token fires, the stream ends with `cancelled`.
  stop_token stop{};
  /// The size of a chunk in bytes, 1 to 64 MiB; other values are clamped to that range. A chunk travels in
  /// segments of the node's `transfer_segment_bytes`.
  std::uint32_t chunk_bytes = 1U << 20U;
  /// The number of chunks that are being processed or on their way at once, 1 to 256; other values are
  /// clamped to that range.
  std::uint32_t depth = 4;
  /// Sends an XXH3 checksum with every segment and compares it on arrival; a difference is
  /// `checksum_mismatch`.
  bool checked = false;
};
static_assert(std::is_trivially_copyable_v<stream_options>);

/// Reads a peer's memory chunk by chunk, in order, so that processing can begin before everything has
/// arrived. While one chunk is being processed, the next ones are on their way:
///
/// ```cpp
/// scoll::bulk_stream chunks(node, request.data, {.chunk_bytes = 1 << 20, .depth = 4});
/// while (true) {
///   auto chunk = co_await chunks.next();
///   if (!chunk) co_return chunk.error();
///   if (chunk->empty()) break;  // the end
///   work_on(*chunk);
/// }
/// ```
/// The stream allocates `depth` buffers of `chunk_bytes` when it is made, and nothing after that. It lives on
/// the executor of the node, which must outlive it. Destroying it ends the transfers on their way at once:
/// nothing is written into its buffers any more.
class bulk_stream {
 public:
  static constexpr std::uint32_t chunk_limit = 1U << 26U;
  static constexpr std::uint32_t depth_limit = 256;

  /// Reads the whole region.
  bulk_stream(node& at, const region_descriptor& from, stream_options options = {});
  /// Reads `length` bytes from `offset` on.
  bulk_stream(node& at, const region_descriptor& from, std::uint64_t offset, std::uint64_t length,
              stream_options options = {});
  ~bulk_stream();
  bulk_stream(const bulk_stream&) = delete;
  bulk_stream& operator=(const bulk_stream&) = delete;

  /// Gives the next chunk, empty at the end. A chunk stays valid until the next call. Errors are those of
  /// `pull`. After an error or the end, every further call gives the same.
  task<result<std::span<const std::byte>>> next();

  /// The number of bytes handed out so far.
  std::uint64_t position() const noexcept;

 private:
  class puller;
  std::unique_ptr<puller> puller_;
};

}  // namespace scoll
