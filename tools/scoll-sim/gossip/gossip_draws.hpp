#pragma once

#include <chrono>
#include <cstdint>

#include "scoll/coro/random.hpp"

namespace scoll::sim {

/// The random numbers of a swarm. The order in which they are drawn decides what a seed means, so no
/// expression draws twice.
class gossip_draws {
 public:
  /// `stream`: with another one, the same seed draws other numbers.
  explicit gossip_draws(std::uint64_t seed, std::uint64_t stream = 77) noexcept
      : random_(seed * 0x9e3779b97f4a7c15 + stream) {}

  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(random_.below(bound));
  }
  /// Draws a whole number of the bound's own units.
  template <class Count, class Unit>
  std::chrono::duration<Count, Unit> below(std::chrono::duration<Count, Unit> bound) noexcept {
    const std::uint64_t drawn = random_.below(static_cast<std::uint64_t>(bound.count()));
    return std::chrono::duration<Count, Unit>(static_cast<Count>(drawn));
  }
  bool one_in(std::uint64_t n) noexcept { return random_.chance(1, n); }
  std::uint64_t bits() noexcept { return random_.next(); }

 private:
  random_generator random_;
};

}  // namespace scoll::sim
