#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "gossip/configuration.hpp"
#include "gossip/options.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::gossip {

/// The cycle that the cluster is in, after Lamport, and guarded against participants whose own clocks are
/// wrong. It follows others by at most 1/0.9 cycles in an interval of its own time, with a burst of three. It
/// goes no further than three others that were heard directly in the last two ticks (or all living ones, if
/// they are fewer). It waits when it is three or more ahead of all that were heard since the last tick. So no
/// single participant can drive it, and none is left behind.
class cluster_clock {
 public:
  cluster_clock(clock_rule rule, nanoseconds interval) noexcept;

  std::uint64_t now() const noexcept { return now_; }

  /// Advances at the participant's own tick. `others_alive` bounds how many others must agree. True if it
  /// waited.
  bool tick(time_point at, std::uint32_t others_alive) noexcept;
  /// Handles the clock `heard` in a message of `from`. True if it was not followed all the way.
  bool hear(participant_index from, std::uint64_t heard, time_point at) noexcept;

  /// True if two others that were heard lately, or all `others` if they are fewer, say that it is about now.
  /// One alone may have been heard long after it spoke.
  bool confirmed(std::uint32_t others) const noexcept;

  /// Ends the start. Until then the clock goes to the median of what is heard: up at once, and down when
  /// three agree.
  void settle() noexcept { settled_ = true; }

 private:
  struct remark {
    participant_index from = nobody;
    std::uint64_t clock = 0;
    std::uint64_t tick = 0;
  };
  static constexpr std::size_t remembered = 16;

  void refill(time_point at) noexcept;
  void remember(participant_index from, std::uint64_t heard) noexcept;
  std::size_t recent(std::array<std::uint64_t, remembered>& clocks) const noexcept;
  std::uint32_t agreeing(std::uint64_t clock) const noexcept;
  std::uint64_t agreed() const noexcept;
  std::uint64_t median() const noexcept;
  bool all_behind() const noexcept;
  void start_from(std::uint64_t heard) noexcept;
  void follow(std::uint64_t heard) noexcept;

  clock_rule rule_;
  nanoseconds price_;  // the price of one followed cycle, in the participant's own time
  nanoseconds credit_;
  time_point refilled_{};
  bool running_ = false;
  bool started_ = false;
  bool settled_ = false;
  std::uint64_t now_ = 0;
  std::uint64_t at_last_tick_ = 0;
  std::uint64_t ticks_ = 0;
  std::uint32_t quorum_ = 3;
  std::array<remark, remembered> remarks_{};
  std::size_t next_remark_ = 0;
};

}  // namespace scoll::gossip
