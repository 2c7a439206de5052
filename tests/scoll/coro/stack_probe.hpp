#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

/// Notes how far apart the stack is at the places where it is touched.
class stack_probe {
 public:
  __attribute__((noinline)) void touch() noexcept {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest_ = std::min(lowest_, here);
    highest_ = std::max(highest_, here);
    ++touches_;
  }
  /// Bytes between the deepest and the shallowest place.
  std::size_t range() const noexcept { return touches_ == 0 ? SIZE_MAX : highest_ - lowest_; }
  std::size_t touches() const noexcept { return touches_; }

 private:
  std::uintptr_t lowest_ = UINTPTR_MAX;
  std::uintptr_t highest_ = 0;
  std::size_t touches_ = 0;
};
