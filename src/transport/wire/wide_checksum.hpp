#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::wire::detail {

/// XXH3 with the widest registers of this processor, which the library finds out at the first call. `state` is
/// an `XXH3_state_t`.
std::uint64_t wide_checksum(const void* bytes, std::size_t size, std::uint64_t seed) noexcept;
void add_wide(void* state, const void* bytes, std::size_t size) noexcept;

}  // namespace scoll::wire::detail
