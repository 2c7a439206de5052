#pragma once

#include <array>
#include <cstdint>

namespace scoll::detail {

/// Suppresses duplicate operations of one root: a window of bits behind the highest counter seen, like that
/// of IPsec against replayed packets.
class replay_window {
 public:
  /// True the first time a counter is seen; false if it was seen before, or is too old to tell.
  bool admit(std::uint64_t counter) noexcept;
  /// True if a counter was seen, or is too old to tell.
  bool seen(std::uint64_t counter) const noexcept;

 private:
  static constexpr std::uint64_t width = 1024;
  std::uint64_t highest_ = 0;
  std::array<std::uint64_t, width / 64> bits_{};
};

}  // namespace scoll::detail
