#include "scoll/collective/replay_window.hpp"

#include <algorithm>

namespace scoll::detail {

bool replay_window::admit(std::uint64_t counter) noexcept {
  const auto bit = [this](std::uint64_t c) -> std::uint64_t& { return bits_[c % width / 64]; };
  const auto mask = [](std::uint64_t c) { return std::uint64_t{1} << (c % 64); };
  if (counter > highest_) {
    const std::uint64_t steps = std::min(counter - highest_, width);
    for (std::uint64_t c = counter - steps + 1; c <= counter; ++c) bit(c) &= ~mask(c);
    highest_ = counter;
  } else if (highest_ - counter >= width || (bit(counter) & mask(counter)) != 0) {
    return false;
  }
  bit(counter) |= mask(counter);
  return true;
}

bool replay_window::seen(std::uint64_t counter) const noexcept {
  if (counter > highest_) return false;
  return highest_ - counter >= width || (bits_[counter % width / 64] >> (counter % 64) & 1) != 0;
}

}  // namespace scoll::detail
