#include "transport/wire/wide_checksum.hpp"

// The function of the library, and not a copy of it as in checksum.cpp.
#include <xxhash.h>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // which gives the function another name
#endif

namespace scoll::wire::detail {

std::uint64_t wide_checksum(const void* bytes, std::size_t size, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

}  // namespace scoll::wire::detail
