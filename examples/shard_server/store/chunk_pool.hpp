#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/task.hpp"

namespace shard {

/// Content travels through memory in chunks of this size.
using chunk = std::array<std::byte, std::size_t{256} << 10>;

class chunk_pool;

/// A chunk on loan. It returns to the pool when the lease is destroyed. Move-only.
class chunk_lease {
 public:
  chunk_lease(chunk_pool& pool, std::shared_ptr<chunk> memory) noexcept
      : pool_(&pool), memory_(std::move(memory)) {}
  chunk_lease(chunk_lease&& other) noexcept
      : pool_(std::exchange(other.pool_, nullptr)), memory_(std::move(other.memory_)) {}
  chunk_lease& operator=(chunk_lease&&) = delete;
  inline ~chunk_lease();

  std::span<std::byte> bytes() const noexcept { return *memory_; }
  /// For a function on a worker, which may outlive this lease when the server shuts down.
  std::shared_ptr<chunk> share() const noexcept { return memory_; }

 private:
  chunk_pool* pool_;
  std::shared_ptr<chunk> memory_;
};

/// Bounds how much a server reads and writes at once, and the memory for it: every operation on content holds
/// a chunk. Memory is allocated when first needed. The pool must outlive its leases.
class chunk_pool {
 public:
  explicit chunk_pool(std::size_t chunks) : free_(chunks) {}

  scoll::task<scoll::result<chunk_lease>> acquire(scoll::stop_token stop) {
    if (auto taken = co_await free_.acquire(1, stop); !taken) co_return taken.error();
    std::shared_ptr<chunk> memory;
    if (idle_.empty()) {
      memory = std::make_shared<chunk>();
    } else {
      memory = std::move(idle_.back());
      idle_.pop_back();
    }
    co_return chunk_lease(*this, std::move(memory));
  }

 private:
  friend class chunk_lease;
  void give_back(std::shared_ptr<chunk> memory) {
    if (memory.use_count() == 1) idle_.push_back(std::move(memory));  // otherwise a worker still reads it
    free_.release();
  }

  scoll::semaphore free_;
  std::vector<std::shared_ptr<chunk>> idle_;
};

chunk_lease::~chunk_lease() {
  if (pool_ != nullptr) pool_->give_back(std::move(memory_));
}

}  // namespace shard
