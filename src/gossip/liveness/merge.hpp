#pragma once

#include <cstddef>
#include <cstdint>

namespace scoll::gossip {

/// An age is the cycles since its owner was last heard, one byte in memory and on the wire: 0 to 253, then
/// "254 or more", which is final, and "never heard", which no arithmetic changes.
inline constexpr std::uint8_t old_age = 254;
inline constexpr std::uint8_t never_heard = 255;

/// `own[i] = min(own[i], heard[i] + shift)`: `shift` is how far the clock here is ahead of the one that the
/// heard ages are relative to, -254 to 254. At memory speed, with the widest vectors of the processor. The
/// two ranges must not overlap.
void merge_ages(std::uint8_t* own, const std::uint8_t* heard, std::size_t count, int shift) noexcept;

/// Overwrites the ages heard from a peer with what to tell that peer: `heard[i]` becomes `own[i]` where that
/// is fresher than `heard[i] + shift` by at least `least` cycles, 1 to 255, and "never heard" elsewhere.
/// `shift` is 0 to 254. The two arrays do not overlap.
void keep_fresher_ages(std::uint8_t* heard, const std::uint8_t* own, std::size_t count, int shift,
                       int least) noexcept;

/// True if no byte of `ages` exceeds `most`.
bool none_older(const std::uint8_t* ages, std::size_t count, std::uint8_t most) noexcept;

/// `ages[i] += cycles`, for a clock that has moved by `cycles`, -254 to 254.
void shift_ages(std::uint8_t* ages, std::size_t count, int cycles) noexcept;

}  // namespace scoll::gossip
