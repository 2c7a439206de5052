#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "scoll/coro/random.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::sim {

/// The random draws for one subject of a plan. Each subject has a stream of its own, which follows from the
/// seed and the subject's name, so that a new subject changes no draw of the others. Each draw is a statement
/// of its own, so that the order never depends on the compiler.
class draws {
 public:
  /// `item` tells streams of one subject apart.
  constexpr draws(std::uint64_t seed, std::string_view subject, std::uint64_t item = 0) noexcept
      : random_(mixed(seed, subject, item)) {}

  std::uint64_t next() noexcept { return random_.next(); }
  std::uint64_t below(std::uint64_t end) noexcept { return random_.below(end); }
  std::uint64_t between(std::uint64_t low, std::uint64_t high) noexcept {
    return low + random_.below(high - low + 1);
  }
  /// True with a probability of `numerator / denominator`.
  bool chance(std::uint64_t numerator, std::uint64_t denominator) noexcept {
    return random_.chance(numerator, denominator);
  }
  /// Small values are more likely: the distribution is uniform in magnitude.
  std::uint64_t magnitude(std::uint64_t low, std::uint64_t high) noexcept {
    std::uint64_t scale = low;
    while (scale * 2 <= high && chance(3, 4)) scale *= 2;
    return between(scale, std::min(high, scale * 2));
  }
  nanoseconds moment(nanoseconds from, nanoseconds to) noexcept {
    return from +
           nanoseconds(static_cast<std::int64_t>(below(static_cast<std::uint64_t>((to - from).count()))));
  }
  template <class T, std::size_t N>
  const T& one_of(const T (&values)[N]) noexcept {
    return values[below(N)];
  }
  random_generator& generator() noexcept { return random_; }

 private:
  static constexpr std::uint64_t mixed(std::uint64_t seed, std::string_view subject,
                                       std::uint64_t item) noexcept {
    std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a
    for (const char c : subject) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return (hash + seed * 0x9e3779b97f4a7c15) ^ (item * 0xd1342543de82ef95);
  }

  random_generator random_;
};

}  // namespace scoll::sim
