#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>

namespace scoll::wire {

/// Text that is not copied when decoded: it points into the message and is valid only as long as the message.
/// On the wire it is a `std::string`, so one side may borrow where the other owns. Encoding reads the bytes
/// that `view` points to.
struct borrowed_string {
  std::string_view view;

  constexpr operator std::string_view() const noexcept { return view; }
  friend constexpr bool operator==(const borrowed_string&, const borrowed_string&) = default;
};

/// Bytes that are not copied when decoded: they point into the message and are valid only as long as the
/// message. On the wire they are a `std::vector<std::byte>`.
struct borrowed_bytes {
  std::span<const std::byte> view;

  constexpr operator std::span<const std::byte>() const noexcept { return view; }
  friend constexpr bool operator==(const borrowed_bytes& a, const borrowed_bytes& b) noexcept {
    return std::ranges::equal(a.view, b.view);
  }
};

}  // namespace scoll::wire
