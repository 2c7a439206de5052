#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "transport/memory/remote_memory.hpp"

namespace scoll::transport {

/// The head of a reply part: a right to read the segment's bytes over a link, in place of the bytes. The
/// requester releases it by cancelling the exchange.
struct memory_right {
  static constexpr std::size_t wire_min_size = 14;
  static constexpr std::uint8_t recalled = 1;  ///< no right, but the wish that it be released soon
  static constexpr std::uint8_t checked = 2;   ///< `checksum` is that of all its bytes

  std::uint32_t link = 0;
  std::uint8_t flags = 0;
  std::uint8_t count = 0;
  std::uint64_t checksum = 0;
  std::array<remote_extent, read_grant::most_extents> extents{};

  constexpr std::span<const remote_extent> view() const noexcept { return {extents.data(), count}; }
  constexpr std::uint64_t length() const noexcept {
    std::uint64_t sum = 0;
    for (const remote_extent& e : view()) sum += e.length;
    return sum;
  }

  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(link, flags, count, checksum);
    for (std::size_t i = 0; i < std::min<std::size_t>(count, extents.size()); ++i) archive(extents[i]);
  }
  friend constexpr bool wire_valid(const memory_right& right) noexcept {
    const bool recall = (right.flags & recalled) != 0;
    return right.flags < 4 && right.count <= read_grant::most_extents && (right.count == 0) == recall;
  }
};

}  // namespace scoll::transport
