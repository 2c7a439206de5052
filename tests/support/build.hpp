#pragma once

#include <cstdlib>

namespace scoll::test {

/// True for builds that are sanitized or not optimised, in which tests repeat things less often.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__OPTIMIZE__)
inline constexpr bool slow_build = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool slow_build = true;
#else
inline constexpr bool slow_build = false;
#endif
#else
inline constexpr bool slow_build = false;
#endif

/// True if tests that draw their cases from seeds are to draw many of them. `./dev check` asks for that.
inline bool long_tests() noexcept {
  return !slow_build && std::getenv("SCOLL_LONG_TESTS") != nullptr;
}

}  // namespace scoll::test
