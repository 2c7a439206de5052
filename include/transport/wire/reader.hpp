#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "scoll/coro/error.hpp"
#include "transport/wire/byte_order.hpp"
#include "transport/wire/limits.hpp"

namespace scoll::wire {

/// The defects that a `reader` reports. `reader::error` puts them into words.
enum class defect : std::uint8_t {
  none,
  too_short,   ///< `what` of `amount` bytes, with `left` bytes left
  count,       ///< `what` of `amount` elements of at least `unit` bytes, with `left` bytes left
  bad_value,   ///< `what` with the value `amount`
  refused,     ///< a value that `wire_valid` refused
  too_deep,    ///< more than `max_depth`
  weightless,  ///< more than `max_weightless_elements`
  left_over,   ///< `amount` bytes more than the value takes
};

/// Decodes a message, which must outlive the reader. Every access is checked. The first defect is kept, and
/// from then on nothing can be read.
class reader {
 public:
  constexpr explicit reader(std::span<const std::byte> from) noexcept
      : begin_(from.data()), next_(from.data()), end_(from.data() + from.size()) {}

  constexpr bool ok() const noexcept { return defect_ == defect::none; }
  constexpr std::size_t position() const noexcept { return static_cast<std::size_t>(next_ - begin_); }
  /// The bytes left in the message, or in the versioned struct being read; 0 after a defect.
  constexpr std::size_t remaining() const noexcept { return static_cast<std::size_t>(end_ - next_); }
  /// The error `malformed`, saying what was wrong and where: "string of 4294967295 bytes, 12 left at offset
  /// 8". Call it only if the reader is not `ok()`.
  scoll::error error() const;

  /// Takes the next `size` bytes; null if fewer are left. `what` has static lifetime.
  constexpr const std::byte* take(std::size_t size, const char* what) noexcept {
    if (size > remaining()) [[unlikely]] {
      fail(defect::too_short, what, size);
      return nullptr;
    }
    return std::exchange(next_, next_ + size);
  }

  /// Takes the length of `what`, checked against the bytes that are left; 0 after a defect.
  constexpr std::size_t take_length(const char* what) noexcept {
    const std::size_t length = take_u32();
    if (length <= remaining()) [[likely]]
      return length;
    fail(defect::too_short, what, length);
    return 0;
  }

  /// Takes a count of elements of at least `unit` bytes each, checked against the bytes that are left; 0
  /// after a defect.
  constexpr std::size_t take_count(const char* what, std::size_t unit) noexcept {
    const std::size_t count = take_u32();
    if (unit == 0) return take_weightless(count, what);
    if (count <= remaining() / unit) [[likely]]
      return count;
    unit_ = unit;
    fail(defect::count, what, count);
    return 0;
  }

  /// Checks that all bytes have been read: any left over are a defect.
  constexpr void finish() noexcept {
    if (remaining() != 0) fail(defect::left_over, "", remaining());
  }

  /// Notes a defect at the next byte, or at `at`. Only the first one is kept.
  constexpr void fail(defect which, const char* what, std::uint64_t amount) noexcept {
    fail(which, what, amount, next_);
  }
  constexpr void fail(defect which, const char* what, std::uint64_t amount, const std::byte* at) noexcept {
    if (!ok()) return;
    defect_ = which;
    what_ = what;
    amount_ = amount;
    left_ = remaining();
    offset_ = static_cast<std::size_t>(at - begin_);
    end_ = next_;
  }

  /// Called around each vector of values that can nest, and each self-describing struct. False: it is nested
  /// too deep.
  [[nodiscard]] constexpr bool enter() noexcept {
    if (depth_ == max_depth) [[unlikely]] {
      fail(defect::too_deep, "", max_depth);
      return false;
    }
    ++depth_;
    return true;
  }
  constexpr void leave() noexcept { --depth_; }

  /// Limits the reader to the next `size` bytes, which must be there, until `widen` is called with the
  /// returned end.
  constexpr const std::byte* narrow(std::size_t size) noexcept { return std::exchange(end_, next_ + size); }
  constexpr void widen(const std::byte* end) noexcept {
    if (ok()) end_ = end;
  }
  constexpr void skip_rest() noexcept { next_ = end_; }

  /// The version that the sender gave the innermost versioned struct being read; 0 outside of any.
  constexpr std::uint16_t version() const noexcept { return version_; }
  /// Sets the version and returns the previous one, to be set again after the struct.
  constexpr std::uint16_t set_version(std::uint16_t version) noexcept {
    return std::exchange(version_, version);
  }

 private:
  constexpr std::size_t take_u32() noexcept {
    const std::byte* from = take(length_size, "length");
    return from != nullptr ? detail::load_little<std::uint32_t>(from) : 0;
  }

  constexpr std::size_t take_weightless(std::size_t count, const char* what) noexcept {
    if (count > weightless_left_) [[unlikely]] {
      fail(defect::weightless, what, count);
      return 0;
    }
    weightless_left_ -= count;
    return count;
  }

  const std::byte* begin_;
  const std::byte* next_;
  const std::byte* end_;
  std::size_t weightless_left_ = max_weightless_elements;
  std::size_t depth_ = 0;
  const char* what_ = "";
  std::uint64_t amount_ = 0;
  std::size_t unit_ = 0;
  std::size_t left_ = 0;
  std::size_t offset_ = 0;
  std::uint16_t version_ = 0;
  defect defect_ = defect::none;
};

}  // namespace scoll::wire
