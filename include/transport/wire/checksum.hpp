#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace scoll::wire {

/// The 64-bit XXH3 of bytes: it detects altered bytes, but not forged ones. To cover parts that are not
/// contiguous, give the checksum of one part as the seed of the next: `checksum(payload, checksum(header))`.
/// Without a seed it is what other tools call XXH3_64bits.
std::uint64_t checksum(std::span<const std::byte> bytes, std::uint64_t seed = 0) noexcept;

/// The same checksum, without a seed, of bytes that come in pieces. How they are cut makes no difference.
class checksum_stream {
 public:
  checksum_stream() noexcept;
  void add(std::span<const std::byte> piece) noexcept;
  std::uint64_t value() const noexcept;

 private:
  static constexpr std::size_t state_bytes = 640;
  alignas(64) std::byte state_[state_bytes];
};

}  // namespace scoll::wire
