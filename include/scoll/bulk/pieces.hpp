#pragma once

/// The pieces in which bulk data travels.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>

#include "transport/memory/pieces.hpp"

namespace scoll {

/// The least and the greatest size of a piece, 64 KiB and 1 MiB, and the greatest number of pieces of one
/// object, 65,536. They are those of the transport, by which pieces travel.
inline constexpr std::uint32_t least_bulk_piece_bytes = transport::least_piece_bytes;
inline constexpr std::uint32_t most_bulk_piece_bytes = transport::most_piece_bytes;
inline constexpr std::uint32_t most_bulk_pieces = transport::most_pieces;
/// The greatest object that fits: 64 GiB.
inline constexpr std::uint64_t most_bulk_bytes = std::uint64_t{most_bulk_pieces} * most_bulk_piece_bytes;

/// An object of `length()` bytes, divided into pieces of `piece_bytes()` bytes, of which the last may be
/// shorter. An object of no bytes has no piece.
class bulk_pieces {
 public:
  /// Divides `length` bytes. Returns nothing unless `piece_bytes` is a power of two from
  /// `least_bulk_piece_bytes` to `most_bulk_piece_bytes`, and that gives at most `most_bulk_pieces`.
  static constexpr std::optional<bulk_pieces> divide(std::uint64_t length,
                                                     std::uint32_t piece_bytes) noexcept {
    const bool is_size = std::has_single_bit(piece_bytes) && piece_bytes >= least_bulk_piece_bytes &&
                         piece_bytes <= most_bulk_piece_bytes;
    if (!is_size || length > std::uint64_t{piece_bytes} * most_bulk_pieces) return std::nullopt;
    return bulk_pieces(length, piece_bytes);
  }

  /// Divides no bytes, so that there is no piece.
  constexpr bulk_pieces() noexcept = default;

  constexpr std::uint64_t length() const noexcept { return length_; }
  constexpr std::uint32_t piece_bytes() const noexcept { return piece_bytes_; }
  constexpr std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(length_ / piece_bytes_ + (length_ % piece_bytes_ != 0 ? 1 : 0));
  }
  /// The place of a piece in the object, and its size, in bytes; `piece` is below `count()`.
  constexpr std::uint64_t offset(std::uint32_t piece) const noexcept {
    return std::uint64_t{piece} * piece_bytes_;
  }
  constexpr std::uint32_t size(std::uint32_t piece) const noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(piece_bytes_, length_ - offset(piece)));
  }

  friend constexpr bool operator==(const bulk_pieces&, const bulk_pieces&) = default;

 private:
  constexpr bulk_pieces(std::uint64_t length, std::uint32_t piece_bytes) noexcept
      : length_(length), piece_bytes_(piece_bytes) {}

  std::uint64_t length_ = 0;
  std::uint32_t piece_bytes_ = least_bulk_piece_bytes;
};

namespace detail {

/// The orders that may be under way by plan from one member to another, for pieces of that size: 512 KiB
/// together, because more bytes on their way do not fit in the caches of a processor (docs/decisions/0041).
constexpr std::uint32_t planned_orders(std::uint32_t piece_bytes) noexcept {
  constexpr std::uint32_t most_bytes = 512U << 10U, least = 2, most = 7;
  return std::clamp(most_bytes / piece_bytes, least, most);
}

}  // namespace detail
}  // namespace scoll
