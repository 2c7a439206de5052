#pragma once

#include <cstddef>
#include <cstdint>

#include "transport/session/greeting.hpp"

namespace scoll::transport {

/// The bounds of a region that is exposed piece by piece. A piece is a power of two of bytes.
inline constexpr std::uint32_t least_piece_bytes = 1U << 16U;
inline constexpr std::uint32_t most_piece_bytes = 1U << 20U;
inline constexpr std::uint32_t most_pieces = 1U << 16U;

/// The owner of a region in pieces, which is told what peers do with it. All functions are called on the
/// endpoint's executor. `on_answered` may also be called from inside `memory_region::publish`.
class piece_events {
 public:
  /// A peer has ordered a piece that is not there, and its order waits. `up`: the peer has lost the source
  /// that it should have used. The call may publish pieces and may end the region.
  virtual void on_ordered(std::uint32_t piece, node_id by, bool up) noexcept {
    static_cast<void>(piece);
    static_cast<void>(by);
    static_cast<void>(up);
  }
  /// An order for a piece has been answered with its bytes, which may leave later. The call must not use the
  /// region.
  virtual void on_answered(std::uint32_t piece, node_id by) noexcept {
    static_cast<void>(piece);
    static_cast<void>(by);
  }
  /// Called for a region in slots: every peer that a piece was sent to has acknowledged it, or no longer
  /// waits, so nothing refers to its slot. It is called in a step of its own, after each time that this
  /// becomes true.
  virtual void on_returned(std::uint32_t piece) noexcept { static_cast<void>(piece); }

 protected:
  ~piece_events() = default;
};

/// How memory is exposed piece by piece.
struct piece_options {
  /// Bytes of a piece: a power of two from 64 KiB to 1 MiB. The last piece may be shorter.
  std::uint32_t piece_bytes = most_piece_bytes;
  /// True if all pieces are there from the beginning; not for a region in slots. Each piece is hashed when it
  /// is first ordered, one in each step, and is published then.
  bool complete = false;
  /// The length of the region in bytes if the memory consists of slots through which its pieces pass: piece p
  /// lies in slot p modulo the number of slots. Every segment of the memory is then a slot of `piece_bytes`.
  /// 0: the memory holds all pieces.
  std::uint64_t length_in_slots = 0;
  /// The object that is told of orders, or null. It must outlive the exposure.
  piece_events* events = nullptr;
};

}  // namespace scoll::transport
