#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "transport/session/greeting.hpp"

namespace scoll {

using transport::node_id;

/// The number of a collective service, the same on all nodes. Numbers below 256 belong to the library.
enum class service_id : std::uint32_t {};
inline constexpr std::uint32_t first_user_service = 256;

/// A 128-bit tag of an object on a node: a pool target, a shard, a device.
struct entity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const entity&, const entity&) = default;
};

/// The SHA-256 digest of an ordered membership.
using membership_digest = std::array<std::byte, 32>;

/// Identifies one membership for ever: the creator, its incarnation, its count of groups, and the digest of
/// the members. So one id can never stand for two memberships.
struct group_id {
  std::uint64_t creator = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  membership_digest digest{};
  friend constexpr auto operator<=>(const group_id&, const group_id&) = default;
  /// Compares word by word, because every request is looked up by this id.
  friend constexpr bool operator==(const group_id& a, const group_id& b) noexcept {
    using words = std::array<std::uint64_t, 4>;
    return a.creator == b.creator && a.incarnation == b.incarnation && a.counter == b.counter &&
           std::bit_cast<words>(a.digest) == std::bit_cast<words>(b.digest);
  }
};

/// Names the group that all nodes know under `id`, a number of the service's own, without a message: no node
/// created it.
constexpr group_id out_of_band_group(service_id service, std::uint64_t id,
                                     const membership_digest& members) noexcept {
  return {0, static_cast<std::uint64_t>(service), id, members};
}

/// Identifies one broadcast: its root, the root's incarnation, a count per group, and the attempt.
struct operation_id {
  std::uint64_t root = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  std::uint16_t attempt = 0;
  friend constexpr auto operator<=>(const operation_id&, const operation_id&) = default;
};

}  // namespace scoll
