#pragma once

/// Checks internal invariants. A violated invariant is a bug of the library, never the fault of a peer or a
/// user, so the process stops with a message instead of continuing with wrong results. The checks stay on in
/// release builds; each costs one predicted branch.

namespace scoll::detail {

[[noreturn]] void assertion_failed(const char* expression, const char* message, const char* file,
                                   int line) noexcept;

}  // namespace scoll::detail

#define SCOLL_ASSERT(condition, message)   \
  (__builtin_expect(bool(condition), true) \
       ? void(0)                           \
       : ::scoll::detail::assertion_failed(#condition, message, __FILE__, __LINE__))
