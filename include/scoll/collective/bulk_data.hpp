#pragma once

/// Bulk data of a broadcast: bytes that reach every member beside the request.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "scoll/bulk/plan.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// The bytes that a broadcast brings to every member: one span, or several that count as one object. It is a
/// view: the bytes, and the list of spans, must stay valid and unchanged until the broadcast has ended. A
/// default-constructed one means that there is no bulk data, which is not the same as data of no bytes.
class bulk_view {
 public:
  constexpr bulk_view() noexcept = default;
  template <class Bytes>
    requires std::convertible_to<const Bytes&, std::span<const std::byte>>
  constexpr bulk_view(const Bytes& bytes) noexcept : bytes_(bytes), given_(true) {}
  constexpr bulk_view(std::span<const std::span<const std::byte>> parts) noexcept
      : parts_(parts), given_(true), in_parts_(true) {}

  /// False if there is no bulk data.
  constexpr bool given() const noexcept { return given_; }
  /// The spans, in order. They lie in this object if there is one only.
  constexpr std::span<const std::span<const std::byte>> parts() const noexcept {
    if (in_parts_) return parts_;
    return {&bytes_, 1};
  }
  /// The bytes of all spans.
  constexpr std::uint64_t length() const noexcept {
    std::uint64_t sum = 0;
    for (const auto part : parts()) sum += part.size();
    return sum;
  }

 private:
  std::span<const std::byte> bytes_;
  std::span<const std::span<const std::byte>> parts_;
  bool given_ = false;
  bool in_parts_ = false;
};
static_assert(std::is_trivially_copyable_v<bulk_view>);

/// The bulk data of a broadcast, as the hooks of its service see it.
struct bulk_info {
  std::uint64_t length = 0;       ///< bytes
  std::uint32_t piece_bytes = 0;  ///< bytes of a piece; the last one may be shorter
  bulk_plan plan{};               ///< the routes that the pieces take
};

/// A part of the bulk data that is in its place and agrees with the checksum that the root gave it.
struct bulk_chunk {
  std::uint64_t offset = 0;          ///< the place of its first byte in the object
  std::span<const std::byte> bytes;  ///< a piece, or the part of it that lies in one span of the place
};

/// How the bulk data of a broadcast has travelled, as its root sees it.
struct bulk_report {
  bulk_plan plan{};               ///< the routes of the pieces
  std::uint32_t piece_bytes = 0;  ///< bytes of a piece
  /// The time that the choice of the plan has predicted, from the start until the last member has all bytes.
  /// It leaves out the hooks and the way of the answers.
  nanoseconds predicted{0};
  /// The time from the start of the broadcast until its result was there.
  nanoseconds taken{0};

  friend bool operator==(const bulk_report&, const bulk_report&) = default;
};

}  // namespace scoll
