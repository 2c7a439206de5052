#pragma once

#include <chrono>

#include "scoll/coro/time.hpp"

namespace scoll::detail {

inline double seconds_of(nanoseconds time) {
  return std::chrono::duration<double>(time).count();
}

}  // namespace scoll::detail
