#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "scoll/coro/error.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/limits.hpp"

namespace scoll::wire {

/// Encodes into the caller's bytes, which must outlive the writer. It never allocates. When the bytes do not
/// suffice it keeps counting, so that `needed()` tells the whole size; what was written is then of no use.
class writer {
 public:
  constexpr explicit writer(std::span<std::byte> into) noexcept : into_(into.data()), room_(into.size()) {}

  /// True if everything so far fitted and could be encoded.
  constexpr bool ok() const noexcept { return problem_ == problem::none && needed_ <= room_; }
  /// The bytes that everything so far takes, whether or not it fitted.
  constexpr std::size_t needed() const noexcept { return needed_; }
  /// The bytes written; empty unless `ok()`.
  constexpr std::span<const std::byte> written() const noexcept { return {into_, ok() ? needed_ : 0}; }
  /// The error: `too_large` (with the size needed in `detail` if it fits there), or `invalid_argument` for
  /// values nested too deep. Call it only if the writer is not `ok()`.
  scoll::error error() const;

  /// Takes the place of the next `size` bytes; null if they do not fit.
  constexpr std::byte* claim(std::size_t size) noexcept {
    const std::size_t at = std::exchange(needed_, needed_ + size);
    return at <= room_ && size <= room_ - at ? into_ + at : nullptr;
  }

  /// Writes a length or count, as u32.
  constexpr void put_length(std::size_t length) noexcept {
    check_length(length);
    if (std::byte* to = claim(length_size)) detail::store_little(to, static_cast<std::uint32_t>(length));
  }

  constexpr void check_length(std::size_t length) noexcept {
    if (length > max_length) problem_ = problem::length;
  }

  /// Called around each vector of values that can nest, and each self-describing struct. False: it is nested
  /// too deep and must be left out.
  [[nodiscard]] constexpr bool enter() noexcept {
    if (depth_ == max_depth) [[unlikely]] {
      problem_ = problem::depth;
      return false;
    }
    ++depth_;
    return true;
  }
  constexpr void leave() noexcept { --depth_; }

  /// Accounts for elements that take no bytes.
  constexpr void count_weightless(std::size_t elements) noexcept {
    if (elements > weightless_left_) [[unlikely]] {
      problem_ = problem::weightless;
    } else {
      weightless_left_ -= elements;
    }
  }

  /// The version of the innermost versioned struct being encoded; 0 outside of any.
  constexpr std::uint16_t version() const noexcept { return version_; }
  /// Sets the version and returns the previous one, to be set again after the struct.
  constexpr std::uint16_t set_version(std::uint16_t version) noexcept {
    return std::exchange(version_, version);
  }

 private:
  enum class problem : std::uint8_t { none, length, depth, weightless };

  std::byte* into_;
  std::size_t room_;
  std::size_t needed_ = 0;
  std::size_t weightless_left_ = max_weightless_elements;
  std::size_t depth_ = 0;
  std::uint16_t version_ = 0;
  problem problem_ = problem::none;
};

}  // namespace scoll::wire
