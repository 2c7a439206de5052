#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/assert.hpp"
#include "transport/memory/memory_head.hpp"
#include "transport/memory/remote_memory.hpp"

namespace scoll::transport {

/// Leave to read memory of the sender: the head of a part of the reply to a get, and the end of the head of a
/// put that is read (docs/wire.md). It belongs to the link whose id it names.
struct memory_right {
  static constexpr std::uint8_t checked = 1;   ///< `checksum` is the XXH3 of the bytes
  static constexpr std::uint8_t recalled = 2;  ///< the right is recalled: nothing more is to be read by it
  static constexpr std::size_t wire_min_size = 14;

  std::uint32_t link = 0;
  std::uint8_t flags = 0;
  std::uint8_t count = 0;
  std::uint64_t checksum = 0;
  std::array<remote_extent, most_extents> places{};

  std::span<const remote_extent> extents() const noexcept { return {places.data(), count}; }
  void set_extents(std::span<const remote_extent> extents) noexcept {
    SCOLL_ASSERT(extents.size() <= most_extents, "a right has more extents than it holds");
    count = static_cast<std::uint8_t>(extents.size());
    std::ranges::copy(extents, places.begin());
  }
  /// Bytes, over all extents.
  std::uint64_t length() const noexcept {
    std::uint64_t sum = 0;
    for (const remote_extent& e : extents()) sum += e.length;
    return sum;
  }

  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(link, flags, count, checksum);
    for (std::size_t i = 0; i < std::min<std::size_t>(count, most_extents); ++i) archive(places[i]);
  }
  /// A recall has no extents; a right has at least one, and none that is empty.
  friend constexpr bool wire_valid(const memory_right& r) noexcept {
    if ((r.flags & ~unsigned{checked | recalled}) != 0 || r.count > most_extents) return false;
    if ((r.flags & recalled) != 0) return r.count == 0;
    return r.count != 0 && std::all_of(r.places.begin(), r.places.begin() + r.count,
                                       [](const remote_extent& e) { return e.length != 0; });
  }
};

inline constexpr std::size_t most_right_bytes = memory_right::wire_min_size + most_extents * 16;

/// The head of a put whose bytes the owner of the region reads. Its right is as long as its segment.
struct put_by_read_head {
  memory_head segment;
  memory_right source;
};

/// True if a request's head is that of such a put, as far as its first byte tells.
constexpr bool puts_by_read(std::span<const std::byte> head) noexcept {
  return !head.empty() && head.front() == static_cast<std::byte>(memory_order_kind::put_by_read);
}

}  // namespace scoll::transport
