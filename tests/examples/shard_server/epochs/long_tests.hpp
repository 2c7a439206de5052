#pragma once

#include <cstdlib>
#include <string_view>

namespace shard_tests {

/// True if the environment asks for tests that take minutes: SCOLL_LONG_TESTS=1.
inline bool is_long() {
  const char* const wanted = std::getenv("SCOLL_LONG_TESTS");
  return wanted != nullptr && std::string_view(wanted) == "1";
}

}  // namespace shard_tests
