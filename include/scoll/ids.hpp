#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

#include "transport/session/hello.hpp"

namespace scoll {

using transport::node_id;

/// The statically agreed number of a collective service. Numbers below 256 belong to the library.
enum class service_id : std::uint32_t {};
inline constexpr std::uint32_t first_user_service = 256;

/// 128-bit tag of an object on a node: a pool target, a shard, a device.
struct entity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  friend constexpr auto operator<=>(const entity&, const entity&) = default;
};

/// SHA-256 of an ordered membership.
using membership_digest = std::array<std::byte, 32>;

/// Names one membership for ever: who made it, in which life, its count there, and the digest of its members,
/// so that one id can never stand for two memberships.
struct group_id {
  std::uint64_t creator = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  membership_digest digest{};
  friend constexpr auto operator<=>(const group_id&, const group_id&) = default;
  /// By words: every request is looked up by it.
  friend constexpr bool operator==(const group_id& a, const group_id& b) noexcept {
    using words = std::array<std::uint64_t, 4>;
    return a.creator == b.creator && a.incarnation == b.incarnation && a.counter == b.counter &&
           std::bit_cast<words>(a.digest) == std::bit_cast<words>(b.digest);
  }
};

/// Names the group that all nodes know under `id`, a number of the service's own, without having been told:
/// nobody created it.
constexpr group_id out_of_band_group(service_id service, std::uint64_t id,
                                     const membership_digest& members) noexcept {
  return {0, static_cast<std::uint64_t>(service), id, members};
}

/// Names one broadcast: its root, the root's life, a count per group, and the attempt.
struct operation_id {
  std::uint64_t root = 0;
  std::uint64_t incarnation = 0;
  std::uint64_t counter = 0;
  std::uint16_t attempt = 0;
  friend constexpr auto operator<=>(const operation_id&, const operation_id&) = default;
};

}  // namespace scoll
