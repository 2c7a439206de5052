#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scoll::wire {

/// XXH3, 64 bits (`F2`): finds altered bytes, not forged ones. To cover parts that do not lie together, give
/// the checksum of one part as the seed of the next: `checksum(payload, checksum(header))`. Without a seed it
/// is what other tools call XXH3_64bits.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

}  // namespace scoll::wire
