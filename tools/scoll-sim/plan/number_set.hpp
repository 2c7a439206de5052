#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "scoll/coro/random.hpp"

namespace scoll::sim {

/// A set of small numbers: the hosts of a cluster, or the ranks of a group.
class number_set {
 public:
  /// The numbers are below this.
  static constexpr std::uint32_t limit = 256;

  constexpr number_set() = default;
  /// All numbers below `end`.
  static constexpr number_set below(std::uint32_t end) noexcept {
    number_set all;
    for (std::uint32_t n = 0; n < end; ++n) all.insert(n);
    return all;
  }
  static constexpr number_set of(std::uint64_t n) noexcept {
    number_set one;
    one.insert(n);
    return one;
  }
  /// Each number below `end` with a probability of one half.
  static number_set half_of(std::uint32_t end, random_generator& random) noexcept {
    number_set some;
    for (std::size_t i = 0; i * word_bits < end; ++i) some.words_[i] = random.next();
    return some & below(end);
  }

  constexpr bool contains(std::uint64_t n) const noexcept {
    return n < limit && (words_[n / word_bits] >> n % word_bits & 1) != 0;
  }
  constexpr void insert(std::uint64_t n) noexcept {
    if (n < limit) words_[n / word_bits] |= std::uint64_t{1} << n % word_bits;
  }
  constexpr void erase(std::uint64_t n) noexcept {
    if (n < limit) words_[n / word_bits] &= ~(std::uint64_t{1} << n % word_bits);
  }
  constexpr bool empty() const noexcept { return *this == number_set(); }
  constexpr std::uint32_t size() const noexcept {
    int count = 0;
    for (const std::uint64_t word : words_) count += std::popcount(word);
    return static_cast<std::uint32_t>(count);
  }
  /// Calls `visit(n)` for every number, in ascending order.
  template <class Visit>
  constexpr void each(Visit&& visit) const {
    for (std::uint32_t n = 0; n < limit; ++n) {
      if (contains(n)) visit(n);
    }
  }
  constexpr const std::array<std::uint64_t, 4>& words() const noexcept { return words_; }

  friend constexpr bool operator==(const number_set&, const number_set&) = default;
  friend constexpr number_set operator&(number_set a, const number_set& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= b.words_[i];
    return a;
  }
  friend constexpr number_set operator|(number_set a, const number_set& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] |= b.words_[i];
    return a;
  }
  friend constexpr number_set operator-(number_set a, const number_set& b) noexcept {
    for (std::size_t i = 0; i < a.words_.size(); ++i) a.words_[i] &= ~b.words_[i];
    return a;
  }

  /// Writes the set as ranges: "{0-5,7}".
  std::string to_text() const;
  /// Reads what `to_text` writes, and a bit mask of the numbers below 64 as a decimal number.
  static std::optional<number_set> from_text(std::string_view text);

 private:
  static constexpr std::size_t word_bits = 64;

  std::array<std::uint64_t, limit / word_bits> words_{};
};

constexpr number_set pair_of(std::uint32_t a, std::uint32_t b) noexcept {
  return number_set::of(a) | number_set::of(b);
}

}  // namespace scoll::sim
