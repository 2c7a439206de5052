#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define SCOLL_FRAME_POOLING false
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SCOLL_FRAME_POOLING false
#endif
#endif
#ifndef SCOLL_FRAME_POOLING
#define SCOLL_FRAME_POOLING true
#endif

namespace scoll {

/// Memory for coroutine frames and small objects of changing size: one free list per size class and thread,
/// so that a steady state allocates nothing (compilers do not elide coroutine allocations reliably).
/// Blocks above `largest_pooled` go to the heap. A block may be freed on another thread; it then joins that
/// thread's lists.
namespace frame_pool {

inline constexpr std::size_t granule = 64;
inline constexpr std::size_t largest_pooled = 8192;

/// Idle bytes kept per size class and thread; what comes back beyond that goes to the heap, so that blocks
/// which always migrate one way cannot pile up.
inline constexpr std::size_t idle_limit_bytes = std::size_t{2} << 20;

/// False under AddressSanitizer: every block then comes from the heap, so that a use of a dead frame is
/// found.
inline constexpr bool pooling = SCOLL_FRAME_POOLING;

/// Aligned like `operator new`. Throws `std::bad_alloc`.
void* allocate(std::size_t size);
void deallocate(void* block, std::size_t size) noexcept;

/// Returns this thread's idle blocks to the heap. Happens by itself when the thread ends.
void trim() noexcept;

struct statistics {
  std::size_t hits;    ///< served from a free list
  std::size_t misses;  ///< served from the heap
  std::size_t
      live;  ///< blocks given out and not back on this thread; may be negative modulo 2^64 if they migrate
};
statistics thread_statistics() noexcept;

}  // namespace frame_pool
}  // namespace scoll
