#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace scoll::sim {

// These bytes occur in no cargo. Wherever they turn up, they show whose memory it is or was.
constexpr std::byte never_filled{0xcc};    ///< memory that is to be filled by a pull
constexpr std::byte await_returned{0xee};  ///< local memory of a transfer that has ended
constexpr std::byte withdrawn{0xdd};       ///< memory that is no longer exposed

/// Returns the byte at `offset` of the cargo of that number. It is below 128.
constexpr std::byte cargo(std::uint64_t number, std::uint64_t offset) {
  const std::uint64_t mixed = (offset + 1) * 0x9e3779b97f4a7c15 ^ (number + 1) * 0xbf58476d1ce4e5b9;
  return static_cast<std::byte>(mixed >> 40 & 127);
}

/// Memory that is lent to the library: pieces of uneven sizes that count as one range, the last piece at the
/// lowest address, with fences around them. Nothing may write to a fence.
class lent_bytes {
 public:
  lent_bytes() = default;
  lent_bytes(std::uint64_t bytes, std::uint64_t pieces) : all_(bytes + (pieces + 1) * fence_bytes, fence) {
    const std::uint64_t shares = pieces * (pieces + 1) / 2;
    std::size_t end = all_.size() - fence_bytes;
    for (std::uint64_t i = 1; i <= pieces; ++i) {
      const std::uint64_t size = i == pieces ? bytes - size_ : bytes * i / shares;
      end -= size;
      pieces_.push_back({end, size});
      size_ += size;
      end -= fence_bytes;
    }
  }

  std::uint64_t size() const noexcept { return size_; }
  /// The memory of all pieces and fences.
  std::span<std::byte> all() noexcept { return all_; }

  template <class Byte>
  std::vector<std::span<Byte>> pieces() {
    std::vector<std::span<Byte>> spans;
    spans.reserve(pieces_.size());
    for (const piece& p : pieces_) spans.push_back(std::span(all_).subspan(p.begin, p.size));
    return spans;
  }

  /// Calls `visit(offset, byte)` for every byte of the range, in order.
  template <class Visit>
  void each(Visit&& visit) {
    std::uint64_t offset = 0;
    for (const piece& p : pieces_) {
      for (std::byte& b : std::span(all_).subspan(p.begin, p.size)) visit(offset++, b);
    }
  }
  void fill(std::byte with) {
    each([with](std::uint64_t, std::byte& b) { b = with; });
  }
  /// Fills the memory with a part of a cargo.
  void load(std::uint64_t number, std::uint64_t from) {
    each([=](std::uint64_t offset, std::byte& b) { b = cargo(number, from + offset); });
  }

  /// True if only `what` lies between the fences and the fences are unchanged.
  bool holds_only(std::byte what) const {
    const auto inside = static_cast<std::uint64_t>(std::count(all_.begin(), all_.end(), what));
    const auto fences = static_cast<std::uint64_t>(std::count(all_.begin(), all_.end(), fence));
    return inside == size_ && inside + fences == all_.size();
  }

 private:
  struct piece {
    std::size_t begin;
    std::size_t size;
  };
  static constexpr std::size_t fence_bytes = 32;
  static constexpr std::byte fence{0xfb};

  std::vector<std::byte> all_;
  std::vector<piece> pieces_;
  std::uint64_t size_ = 0;
};

}  // namespace scoll::sim
