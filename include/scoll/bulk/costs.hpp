#pragma once

#include <cstdint>

namespace scoll {

/// The cost of moving bulk data from one member to another. The defaults are for links that have not been
/// measured; for these, a piece's time contains that of its order.
struct bulk_costs {
  /// The time for a piece beside that for its bytes, in ns.
  std::uint64_t piece_ns = 40'000;
  /// The time of a link for a byte, in ps.
  std::uint64_t link_ps = 300;
  /// The time for hashing a byte, in ps.
  std::uint64_t hash_ps = 60;
  /// The time of a host for each byte that one of its members receives, in ps.
  std::uint64_t host_ps = 300;
  /// The same in pieces of at most 256 KiB, where it is another one than in pieces of 1 MiB; otherwise 0.
  std::uint64_t host_small_ps = 0;
  /// The time for a message without bulk data to the next member, in ns. It is paid once for each hop, and
  /// not for each piece.
  std::uint64_t hop_ns = 0;

  friend bool operator==(const bulk_costs&, const bulk_costs&) = default;
};

/// The costs where every link is as bad as the worse of two.
constexpr bulk_costs worse_of(const bulk_costs& a, const bulk_costs& b) noexcept {
  const auto worse = [](std::uint64_t x, std::uint64_t y) { return x < y ? y : x; };
  return {worse(a.piece_ns, b.piece_ns),
          worse(a.link_ps, b.link_ps),
          worse(a.hash_ps, b.hash_ps),
          worse(a.host_ps, b.host_ps),
          worse(a.host_small_ps, b.host_small_ps),
          worse(a.hop_ns, b.hop_ns)};
}

}  // namespace scoll
