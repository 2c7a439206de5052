#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::wire::detail {

/// XXH3 with the widest registers of this processor, which the library finds out at the first call. There is no form
/// for bytes that come in pieces: the layout of its state belongs to one version of the library.
std::uint64_t wide_checksum(const void* bytes, std::size_t size, std::uint64_t seed) noexcept;

}  // namespace scoll::wire::detail
