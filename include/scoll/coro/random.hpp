#pragma once

#include <cstdint>

#include "scoll/coro/assert.hpp"

namespace scoll {

/// A random number generator: xoshiro256** (Blackman and Vigna 2018), seeded by splitmix64. The library has
/// its own because the standard's distributions differ between implementations, and a seed must give the same
/// run everywhere.
class random_generator {
 public:
  explicit constexpr random_generator(std::uint64_t seed) noexcept {
    for (auto& word : state_) word = splitmix(seed);
  }

  constexpr std::uint64_t next() noexcept {
    const std::uint64_t value = rotate(state_[1] * 5, 7) * 9;
    const std::uint64_t t = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= t;
    state_[3] = rotate(state_[3], 45);
    return value;
  }

  /// A uniform number in [0, bound), computed with integers only (Lemire 2019); `bound` must not be 0.
  constexpr std::uint64_t below(std::uint64_t bound) noexcept {
    SCOLL_ASSERT(bound != 0, "there is no number below 0");
    const std::uint64_t threshold = (0 - bound) % bound;
    while (true) {
      __extension__ using wide = unsigned __int128;
      const wide product = static_cast<wide>(next()) * bound;
      if (static_cast<std::uint64_t>(product) >= threshold) return static_cast<std::uint64_t>(product >> 64);
    }
  }

  /// True with probability `numerator / denominator`.
  constexpr bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept {
    return below(denominator) < numerator;
  }

 private:
  static constexpr std::uint64_t rotate(std::uint64_t x, int k) noexcept {
    return (x << k) | (x >> (64 - k));
  }
  static constexpr std::uint64_t splitmix(std::uint64_t& seed) noexcept {
    std::uint64_t z = (seed += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

  std::uint64_t state_[4]{};
};

}  // namespace scoll
