#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/coro/assert.hpp"
#include "transport/memory/remote_memory.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

constexpr bool wire_valid(const memory_access& access) noexcept {
  return access >= memory_access::read && access <= memory_access::read_write;
}
constexpr bool permits(memory_access granted, memory_access wanted) noexcept {
  return (static_cast<unsigned>(granted) & static_cast<unsigned>(wanted)) == static_cast<unsigned>(wanted);
}

/// The key with which a rail whose hardware moves memory by itself reaches a region. Stream rails need none.
struct region_key {
  std::uint32_t rail = 0;  ///< the rail's number at the exposing node
  std::uint32_t key = 0;
  std::uint64_t address = 0;

  friend constexpr bool operator==(const region_key&, const region_key&) = default;
};

/// At most `capacity` keys, without allocation.
class region_keys {
 public:
  static constexpr std::size_t capacity = 8;
  static constexpr std::size_t wire_min_size = 1;

  constexpr std::size_t size() const noexcept { return count_; }
  constexpr std::span<const region_key> view() const noexcept { return {keys_.data(), count_}; }
  constexpr void push_back(const region_key& key) noexcept {
    SCOLL_ASSERT(count_ < capacity, "a region has more keys than a descriptor holds");
    keys_[count_++] = key;
  }

  template <class Archive>
  constexpr void describe(Archive& archive) {
    archive(count_);
    for (std::size_t i = 0; i < std::min<std::size_t>(count_, capacity); ++i) archive(keys_[i]);
  }
  friend constexpr bool wire_valid(const region_keys& keys) noexcept { return keys.count_ <= capacity; }
  friend constexpr bool operator==(const region_keys& a, const region_keys& b) noexcept {
    return std::ranges::equal(a.view(), b.view());
  }

 private:
  std::uint8_t count_ = 0;
  std::array<region_key, capacity> keys_{};
};

/// Names a `memory_region` to other nodes: a wire type (docs/wire.md) that any message may carry, and the
/// argument of `pull` and `push`. It grants nothing by itself, because the exposing node checks each access:
/// a forged or outdated descriptor is answered with an error. An incarnation never uses a generation twice.
struct region_descriptor {
  node_id node = 0;               ///< the exposing node
  std::uint64_t incarnation = 0;  ///< the exposing node's incarnation
  std::uint64_t generation = 0;
  std::uint64_t length = 0;  ///< bytes, over all segments
  std::uint32_t region = 0;  ///< the index in the node's table
  memory_access access = memory_access::read;
  region_keys keys;

  friend constexpr bool operator==(const region_descriptor&, const region_descriptor&) = default;
};
static_assert(std::is_trivially_copyable_v<region_descriptor>);

}  // namespace scoll::transport
