#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// In front of an IPv4 address, in the form that ports have of it in their tables.
inline constexpr std::array<std::uint8_t, 12> mapped_prefix{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

inline gid mapped(std::array<std::uint8_t, 4> address) noexcept {
  gid whole{};
  std::ranges::copy(mapped_prefix, whole.begin());
  std::ranges::copy(address, whole.begin() + mapped_prefix.size());
  return whole;
}

inline bool is_mapped(const gid& address) noexcept {
  return std::equal(mapped_prefix.begin(), mapped_prefix.end(), address.begin());
}

}  // namespace scoll::transport::verbs
