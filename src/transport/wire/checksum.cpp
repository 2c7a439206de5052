#define XXH_INLINE_ALL
#include "transport/wire/checksum.hpp"

#include <xxhash.h>

#include "transport/wire/wide_checksum.hpp"

namespace scoll::wire {
namespace {

// XXH3 has a way of its own for up to so many bytes, which wide registers do not make faster. Such inputs are hashed
// here, without a call.
constexpr std::size_t short_input_bytes = XXH3_MIDSIZE_MAX;

XXH3_state_t& state_in(std::byte* memory) noexcept {
  return *reinterpret_cast<XXH3_state_t*>(memory);
}

}  // namespace

std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed) noexcept {
  if (bytes.size() <= short_input_bytes) return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
  return detail::wide_checksum(bytes.data(), bytes.size(), seed);
}

checksum_stream::checksum_stream() noexcept {
  static_assert(sizeof(XXH3_state_t) <= state_bytes && alignof(XXH3_state_t) <= 64);
  XXH3_INITSTATE(&state_in(state_));
  XXH3_64bits_reset(&state_in(state_));
}

void checksum_stream::add(std::span<const std::byte> piece) noexcept {
  XXH3_64bits_update(&state_in(state_), piece.data(), piece.size());
}

std::uint64_t checksum_stream::value() const noexcept {
  return XXH3_64bits_digest(reinterpret_cast<const XXH3_state_t*>(state_));
}

}  // namespace scoll::wire
