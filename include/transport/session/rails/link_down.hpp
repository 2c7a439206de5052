#pragma once

#include <array>
#include <cstdint>

namespace scoll::transport {

/// The payload of `link_down`, by which a node tells its peer over another connection that it has cut a
/// connection, and of its answer, which repeats all fields but the last two.
struct link_down {
  std::uint8_t lane = 0;
  /// 1: the speaker of `link_down` had made the connection; 0: its receiver.
  std::uint8_t made_by_speaker = 0;
  /// The rail of the speaker of `link_down`, and that of its receiver.
  std::uint8_t from_rail = 0;
  std::uint8_t to_rail = 0;
  std::uint16_t reason = 0;  ///< an `errc`
  std::uint16_t reserved = 0;
  /// The attempt of the connection, as its identity had it.
  std::uint64_t attempt = 0;
  /// All sequence numbers of the lane up to this one have arrived at the speaker of this frame.
  std::uint64_t received = 0;
  /// Which of the 256 numbers after `received` have arrived, too. All zero on a control lane.
  std::array<std::uint64_t, 4> beyond{};
};

/// True if the two are about the same connection.
inline bool same_link(const link_down& left, const link_down& right) noexcept {
  return left.lane == right.lane && left.made_by_speaker == right.made_by_speaker &&
         left.from_rail == right.from_rail && left.to_rail == right.to_rail && left.attempt == right.attempt;
}

}  // namespace scoll::transport
