#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "scoll/coro/member_timer.hpp"
#include "transport/session/rails/link_load.hpp"

namespace scoll::transport {

class carrier;
class lane;

/// What a bulk lane with several connections knows about them: which messages each has been handed, and how
/// fast it is. A message keeps the mark of the connection that it was last handed to.
class stripes {
 public:
  /// The marks of messages that any connection may take, and of those whose connection is gone while the peer
  /// has not said yet what of it has arrived.
  static constexpr std::uint8_t nobody = 0;
  static constexpr std::uint8_t undecided = 127;
  /// Set in the mark of a message that counts as a segment.
  static constexpr std::uint8_t large = 128;
  static constexpr std::size_t most = 8;

  explicit stripes(lane& owner) noexcept : owner_(owner) {}
  ~stripes();
  stripes(const stripes&) = delete;
  stripes& operator=(const stripes&) = delete;

  struct place {
    carrier* by = nullptr;
    std::uint32_t segments = 0;  ///< handed to it, and not acknowledged
    link_load load{};
  };
  /// The place of a connection that has a mark.
  place& at(std::uint8_t mark) noexcept { return places_[mark - 1U]; }
  /// Gives a connection a mark; `nobody` if there is none left.
  std::uint8_t enter(carrier& by) noexcept;

  /// The messages that any connection may take.
  std::size_t free() const noexcept { return free_; }
  /// Changes the mark of a message. `segment`: it counts in the share of its new connection.
  void mark(std::uint8_t& of, std::uint8_t next, bool segment) noexcept;
  /// Decides soon about the messages that are undecided.
  void decide_by(time_point when) noexcept;
  void stop_timer() noexcept;

 private:
  void over() noexcept;

  lane& owner_;
  std::array<place, most> places_{};
  std::size_t free_ = 0;
  member_timer<&stripes::over> timer_{*this};
};

}  // namespace scoll::transport
