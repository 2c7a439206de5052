#define XXH_INLINE_ALL
#include "transport/wire/checksum.hpp"

#include <xxhash.h>

namespace scoll::wire {

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

}  // namespace scoll::wire
