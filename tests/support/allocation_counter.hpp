#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SCOLL_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SCOLL_SANITIZED 1
#endif
#endif

/// Counts what the global allocation functions do, per thread. Linking its source replaces them for the
/// program, except under sanitizers, which bring their own.
namespace allocation_counter {

#ifdef SCOLL_SANITIZED
inline constexpr bool counting = false;
#else
inline constexpr bool counting = true;
#endif

/// Allocations made by this thread so far; always 0 if it is not `counting`.
std::size_t on_this_thread() noexcept;

/// Bytes that this thread has allocated and not freed so far, less those that it has freed for other threads;
/// always 0 if it is not `counting`. Each block counts with the bytes that can be used in it.
std::ptrdiff_t bytes_on_this_thread() noexcept;

}  // namespace allocation_counter
