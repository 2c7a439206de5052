#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>

#include "scoll/coro/time.hpp"
#include "transport/session/greeting.hpp"

namespace scoll::transport {

/// Whether one of this node's own rails is dead, as its peers show. It changes only as it is told; it
/// measures nothing.
///
/// The rail is in doubt if three peers, or both of two, have lost it within a second while they answer over
/// another rail. Then other peers are probed over it. The rail is dead if none has answered after a while
/// what left later than the losses. It is alive again with the first connection or answer that shows it.
/// While it is dead, the peers take turns: one of them at a time tries to connect by it.
class own_rail {
 public:
  static constexpr std::size_t peers_wanted = 3;
  static constexpr nanoseconds within = std::chrono::seconds(1);
  static constexpr nanoseconds first_pause = std::chrono::milliseconds(200);
  static constexpr nanoseconds longest_pause = std::chrono::seconds(2);

  bool dead() const noexcept { return dead_; }
  /// The number of peers whose losses were the verdict.
  std::size_t lost_by() const noexcept { return lost_by_; }

  /// Over the rail, `peer` has left unanswered what left at `began`. `all_of_two` says whether only two
  /// peers have used the rail; it is asked if that decides. Returns true if the rail is in doubt from now on.
  bool lost(node_id peer, time_point began, time_point now, const std::function<bool()>& all_of_two);
  bool in_doubt() const noexcept { return in_doubt_; }
  /// Returns true if the rail has been in doubt for that long, and is dead from now on.
  bool settle(time_point now, nanoseconds patience) noexcept;
  /// A probe that left at `left` has been answered over the rail, or a connection has come up. Returns true
  /// if the rail was dead and is alive now.
  bool answered(time_point left) noexcept;
  /// An attempt to connect by the rail is about to begin. Returns for how long it must wait; then it asks
  /// again. 0: it may begin.
  nanoseconds turn(time_point now) noexcept;
  /// The rail may work again: the next attempt may begin at once, and the pauses are short again.
  void try_soon() noexcept {
    next_try_ = {};
    pause_ = nanoseconds(0);
  }

 private:
  struct loss {
    node_id peer = 0;
    time_point began{};
    time_point at{};
  };

  bool in_doubt_ = false;
  bool dead_ = false;
  std::size_t lost_by_ = 0;
  std::array<loss, peers_wanted> losses_{};  // the latest, of different peers
  time_point since_{};                       // dead, or in doubt
  time_point last_began_{};                  // of the losses that were the verdict
  time_point answered_left_{};               // when that left which has been answered
  time_point next_try_{};
  nanoseconds pause_{0};
};

/// What has become of one of a node's own rails. It is valid during the call that hands it over.
struct rail_news {
  std::uint8_t rail = 0;
  bool dead = false;      ///< else it is alive again
  std::size_t peers = 0;  ///< how many have lost it
};

}  // namespace scoll::transport
