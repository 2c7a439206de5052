#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace scoll::transport {

/// A set of message numbers that lie within 256 of each other. It needs memory when it first has one, because
/// the sets of most lanes are always empty.
class number_set {
 public:
  static constexpr std::uint64_t span = 256;

  bool has(std::uint64_t number) const noexcept { return (word(number) & bit(number)) != 0; }
  void add(std::uint64_t number) noexcept {
    if (words_ == nullptr) words_ = std::make_unique<words>();
    (*words_)[index(number)] |= bit(number);
  }
  void remove(std::uint64_t number) noexcept {
    if (words_ != nullptr) (*words_)[index(number)] &= ~bit(number);
  }
  void clear() noexcept {
    if (words_ != nullptr) words_->fill(0);
  }
  std::uint64_t count() const noexcept {
    std::uint64_t sum = 0;
    if (words_ == nullptr) return sum;
    for (const std::uint64_t each : *words_) sum += static_cast<std::uint64_t>(std::popcount(each));
    return sum;
  }

 private:
  static std::size_t index(std::uint64_t number) noexcept { return number / 64 % 4; }
  static std::uint64_t bit(std::uint64_t number) noexcept { return std::uint64_t{1} << (number % 64); }
  std::uint64_t word(std::uint64_t number) const noexcept {
    return words_ == nullptr ? 0 : (*words_)[index(number)];
  }

  using words = std::array<std::uint64_t, span / 64>;
  std::unique_ptr<words> words_;
};

/// Which messages of a lane have arrived: all up to a number, and some of the 256 numbers after it.
class arrival_window {
 public:
  static constexpr std::uint64_t span = number_set::span;
  using bits = std::array<std::uint64_t, 4>;

  /// All numbers up to this one have arrived.
  std::uint64_t cumulative() const noexcept { return cumulative_; }
  /// How many messages have arrived.
  std::uint64_t count() const noexcept { return cumulative_ + beyond_.count(); }

  bool has(std::uint64_t number) const noexcept {
    if (number != 0 && number <= cumulative_) return true;
    return within(number) && beyond_.has(number);
  }
  /// True if the number is so low that its arrival can be remembered.
  bool within(std::uint64_t number) const noexcept {
    return number > cumulative_ && number - cumulative_ <= span;
  }
  /// Notes the arrival of a number that is within the window.
  void add(std::uint64_t number) noexcept {
    if (number == cumulative_ + 1) {
      ++cumulative_;
    } else {
      beyond_.add(number);
    }
    while (beyond_.has(cumulative_ + 1)) beyond_.remove(++cumulative_);
  }
  /// Which of the numbers after `cumulative()` have arrived: bit i of word w stands for the number
  /// `cumulative() + 1 + 64 * w + i`.
  bits beyond() const noexcept {
    bits found{};
    if (beyond_.count() == 0) return found;
    for (std::uint64_t i = 0; i < span; ++i) {
      if (beyond_.has(cumulative_ + 1 + i)) found[i / 64] |= std::uint64_t{1} << (i % 64);
    }
    return found;
  }
  void reset() noexcept {
    cumulative_ = 0;
    beyond_.clear();
  }

 private:
  std::uint64_t cumulative_ = 0;
  number_set beyond_;
};

}  // namespace scoll::transport
