#include <algorithm>
#include <array>

#include "tools/scoll-sim/calls/errand_bulk.hpp"

namespace scoll::sim {

errc refusal_of(haul_twist twist) noexcept {
  switch (twist) {
    case haul_twist::widened:
    case haul_twist::stretched: return errc::invalid_argument;
    case haul_twist::invented: return errc::not_found;
    default: return errc::stale_descriptor;
  }
}

haul_shape shape_of(std::uint64_t drawn, std::uint64_t bytes) {
  random_generator random(drawn);
  const auto some = [&](std::uint64_t numerator, std::uint64_t denominator, std::uint64_t most) {
    const bool wanted = random.chance(numerator, denominator);
    const std::uint64_t value = random.below(most);
    return wanted ? 1 + value : 0;
  };
  constexpr std::array ways{haul_way::pull, haul_way::pull, haul_way::push, haul_way::push, haul_way::stream};
  constexpr std::array<std::uint32_t, 8> chunks{0, 0, 0, 333, 1'000, 4'096, 8'193, 30'000};
  constexpr std::uint64_t segments_at_most = 40;
  haul_shape s;
  s.bytes = bytes;
  s.way = ways[random.below(ways.size())];
  s.twist = static_cast<haul_twist>(some(1, 5, 5));
  s.wide = random.chance(1, 2);
  s.verify = random.chance(1, 3);
  s.ends_by_handle = random.chance(1, 2);
  s.pieces = 1 + some(2, 3, 4);
  s.local_pieces = 1 + some(2, 3, 3);
  const std::uint64_t beyond = s.twist == haul_twist::stretched ? 1 + random.below(5'000) : 0;
  const bool whole = random.chance(1, 2);
  const std::uint64_t offset = random.below(bytes + 1);
  const std::uint64_t length = random.below(bytes - offset + 1);
  s.offset = whole ? 0 : offset;
  s.length = whole || beyond != 0 ? bytes + beyond - s.offset : length;
  s.chunk = chunks[random.below(chunks.size())];
  if (s.chunk != 0) s.chunk = std::max(s.chunk, static_cast<std::uint32_t>(s.length / segments_at_most));
  s.depth = static_cast<std::uint32_t>(some(1, 2, 6));
  s.chunks_read = static_cast<std::uint32_t>(some(1, 3, 4));
  if (const std::uint64_t doublings = some(1, 3, 17); doublings != 0)
    s.withdrawn_after_us = std::uint64_t{1} << (doublings - 1);
  s.kept_for_us = std::uint64_t{1} << random.below(18);
  if (const std::uint64_t doublings = some(1, 3, 13); doublings != 0)
    s.deadline_us = std::uint64_t{10} << (doublings - 1);
  if (const std::uint64_t doublings = some(1, 4, 7); doublings != 0)
    s.chunk_work_us = std::uint64_t{100} << (doublings - 1);
  s.registered = random.chance(1, 2);
  s.local_registered = random.chance(1, 2);
  return s;
}

}  // namespace scoll::sim
