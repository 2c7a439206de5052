#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "transport/wire/reader.hpp"

namespace scoll::wire::detail {

/// Reads bytes that a `reader` has already found to be there, and reports wrong values to it.
class fixed_reader {
 public:
  constexpr fixed_reader(const std::byte* next, reader& whole) noexcept : next_(next), whole_(whole) {}
  [[gnu::returns_nonnull]] constexpr const std::byte* take(std::size_t size, const char* /*what*/) noexcept {
    return std::exchange(next_, next_ + size);
  }
  constexpr void fail(defect which, const char* what, std::uint64_t amount) noexcept {
    fail(which, what, amount, next_);
  }
  constexpr void fail(defect which, const char* what, std::uint64_t amount, const std::byte* at) noexcept {
    whole_.fail(which, what, amount, at);
  }

 private:
  const std::byte* next_;
  reader& whole_;
};

}  // namespace scoll::wire::detail
