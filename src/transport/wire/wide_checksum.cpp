#include "transport/wire/wide_checksum.hpp"

// The functions of the library, and not copies of them as in checksum.cpp.
#include <xxhash.h>

#if defined(__x86_64__) && __has_include(<xxh_x86dispatch.h>)
#include <xxh_x86dispatch.h>  // which gives these functions others' names
#endif

namespace scoll::wire::detail {

std::uint64_t wide_checksum(const void* bytes, std::size_t size, std::uint64_t seed) noexcept {
  return XXH3_64bits_withSeed(bytes, size, seed);
}

void add_wide(void* state, const void* bytes, std::size_t size) noexcept {
  XXH3_64bits_update(static_cast<XXH3_state_t*>(state), bytes, size);
}

}  // namespace scoll::wire::detail
