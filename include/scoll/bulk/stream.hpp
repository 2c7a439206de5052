#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "scoll/bulk/bulk.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"

namespace scoll {

/// A peer's memory chunk by chunk, in order, so that work begins before all has come. While one
/// chunk is worked on, the next ones are on their way:
///
/// ```cpp
/// scoll::bulk_stream chunks(node, request.data, {.chunk = 1 << 20, .depth = 4});
/// while (true) {
///   auto chunk = co_await chunks.next();
///   if (!chunk) co_return chunk.error();
///   if (chunk->empty()) break;  // the end
///   work_on(*chunk);
/// }
/// ```
/// Its memory is `depth` buffers of `chunk` bytes, allocated when it is made; nothing after that. Lives on
/// the executor of the node, which must outlive it. Destroying it ends what is on its way at once: nothing is
/// written into its buffers any more. Deadline and stop of the options are for the whole stream.
class bulk_stream {
 public:
  static constexpr std::uint32_t default_chunk = 1U << 20U;
  static constexpr std::uint32_t default_depth = 4;
  static constexpr std::uint32_t chunk_limit = 1U << 26U;
  static constexpr std::uint32_t depth_limit = 256;

  /// Of the whole region. In the options 0 stands for the defaults above; larger values than the limits are
  /// cut to them.
  bulk_stream(node& at, const bulk_descriptor& from, bulk_options options = {});
  /// Of `length` bytes from `offset` on.
  bulk_stream(node& at, const bulk_descriptor& from, std::uint64_t offset, std::uint64_t length,
              bulk_options options = {});
  ~bulk_stream();
  bulk_stream(const bulk_stream&) = delete;
  bulk_stream& operator=(const bulk_stream&) = delete;

  /// The next chunk, empty at the end. It stays valid until the next call. Errors as for `pull`; after one,
  /// or the end, every further call gives the same.
  task<result<std::span<const std::byte>>> next();

  /// Bytes handed out so far.
  std::uint64_t position() const noexcept;

 private:
  class puller;
  std::unique_ptr<puller> puller_;
};

}  // namespace scoll
