#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "scoll/coro/result.hpp"

namespace scoll::wire {
class writer;
}

namespace scoll::detail {

/// A run of counters, both ends included.
struct counter_range {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  friend constexpr bool operator==(const counter_range&, const counter_range&) = default;
};

/// A set of counters above 0, as ascending ranges that do not touch.
using counter_ranges = std::vector<counter_range>;

/// Adds a counter that is greater than all in `to`.
void add_counter(counter_ranges& to, std::uint64_t counter);
bool contains(std::span<const counter_range> in, std::uint64_t counter) noexcept;
/// The counters of `all` that are not in `without`.
counter_ranges difference(std::span<const counter_range> all, std::span<const counter_range> without);

/// Writes as many of the ranges as fit into `room` bytes, each as two varints: its distance from the range
/// before, and its length less one. Returns the number of ranges written.
std::size_t put_counters(wire::writer& out, std::span<const counter_range> ranges, std::size_t room);
/// Reads ranges up to the end of the bytes. Error: `malformed`.
result<counter_ranges> take_counters(std::span<const std::byte> bytes);

}  // namespace scoll::detail
