#pragma once

#include <cstddef>
#include <cstdint>

#include "scoll/coro/time.hpp"

namespace scoll::testing {

/// How long after the end of a partition the waiting bytes are sent again.
inline constexpr nanoseconds retransmission = std::chrono::milliseconds(2);

constexpr nanoseconds byte_time(std::size_t bytes, std::uint64_t ps_per_byte) noexcept {
  return nanoseconds(static_cast<std::int64_t>(bytes * ps_per_byte / 1000));
}

}  // namespace scoll::testing
