#include "scoll/coro/assert.hpp"

#include <cstdio>
#include <cstdlib>

namespace scoll::detail {

void assertion_failed(const char* expression, const char* message, const char* file, int line) noexcept {
  std::fprintf(stderr, "scoll: broken invariant: %s [%s] at %s:%d\n", message, expression, file, line);
  std::fflush(stderr);
  std::abort();
}

}  // namespace scoll::detail
