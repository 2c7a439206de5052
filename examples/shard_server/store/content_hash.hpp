#pragma once

#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "chunk_pool.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/worker_pool.hpp"

namespace shard {

/// XXH3-64 of content that arrives in parts.
class content_hash {
 public:
  content_hash() : state_(XXH3_createState(), [](XXH3_state_t* s) { XXH3_freeState(s); }) {
    XXH3_64bits_reset(state_.get());
  }

  /// Hashes on this thread, for small parts.
  void add(std::span<const std::byte> part) { XXH3_64bits_update(state_.get(), part.data(), part.size()); }

  /// Hashes the first `bytes` of a chunk on a worker. The function owns the data it touches, as the pool
  /// demands.
  scoll::task<scoll::status> add_on(scoll::worker_pool& pool, std::shared_ptr<chunk> part, std::size_t bytes,
                                    scoll::stop_token stop) {
    const auto work = [state = state_, part = std::move(part), bytes] {
      XXH3_64bits_update(state.get(), part->data(), bytes);
    };
    co_return co_await pool.run("hash", work, stop);
  }

  std::uint64_t value() const { return XXH3_64bits_digest(state_.get()); }

 private:
  std::shared_ptr<XXH3_state_t> state_;
};

}  // namespace shard
