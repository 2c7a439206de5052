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

/// Memory for coroutine frames and small objects of varying size. Each thread has one free list per size
/// class, so that a steady state allocates nothing (compilers do not elide coroutine allocations reliably).
/// Blocks above `largest_pooled` bytes come from the heap. A block may be freed on another thread; it then
/// joins that thread's lists.
namespace frame_pool {

inline constexpr std::size_t granule = 64;
inline constexpr std::size_t largest_pooled = 8192;

/// The limit of idle bytes per size class and thread. Blocks freed beyond it go back to the heap, so that
/// blocks which always migrate in one direction cannot pile up.
inline constexpr std::size_t idle_limit_bytes = std::size_t{2} << 20;

/// False under AddressSanitizer, where every block comes from the heap so that a use of a dead frame is
/// found.
inline constexpr bool pooling = SCOLL_FRAME_POOLING;

/// Allocates `size` bytes, aligned like `operator new`. Throws `std::bad_alloc`.
void* allocate(std::size_t size);
void deallocate(void* block, std::size_t size) noexcept;

/// Returns this thread's idle blocks to the heap. This also happens when the thread ends.
void trim() noexcept;

struct statistics {
  /// Allocations served from a free list.
  std::size_t hits;
  /// Allocations served from the heap.
  std::size_t misses;
  /// Blocks allocated minus blocks freed on this thread. Modulo 2^64 it may be negative if blocks migrate.
  std::size_t live;
};
statistics thread_statistics() noexcept;

}  // namespace frame_pool
}  // namespace scoll
