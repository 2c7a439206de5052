#pragma once

#include <cstdint>

#include "scoll/collective/collective_head.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"

namespace scoll::detail {

/// The time that one operation may take on one node, and the time it waits for each child. It only computes
/// with the times it is given: it has no clock and no timer.
///
/// With a caller's deadline the remaining time travels down, and each level keeps `margin` of it. Without
/// one, a subtree of d levels is awaited for d · (rtt + margin) + processing + bulk.
struct operation_times {
  time_point started{};
  time_point expires = never;
  time_point first_round_ends =
      never;              ///< at the root: the children have no longer, if others are to be asked
  time_limit limit;       ///< the limit of the whole operation; set on the root only
  nanoseconds margin{0};  ///< the part that each level keeps, so that it answers before its parent gives up
  nanoseconds rtt{0};     ///< the round trip to a child
  nanoseconds processing{0};  ///< the time of one member's own work
  nanoseconds bulk{0};        ///< the time that all members together have for bulk data
  bool by_deadline = false;
  bool expired = false;  ///< `expires` has passed

  /// Sets the bounds on the root, before the operation begins. It refuses a limit that is too short for
  /// `levels` (`deadline_exceeded`).
  status set_bounds(time_limit whole, time_point now, nanoseconds round_trip, nanoseconds level_margin,
                    nanoseconds processing_bound, std::int64_t levels);
  /// Begins on the root at `now`; `finishing` is kept for a `finish` hook that is a coroutine.
  void begin_as_root(time_point now, std::int64_t levels, nanoseconds finishing);
  /// Begins on a member at `now`, with the bounds in the head.
  void begin_as_member(time_point now, const collective_head& head, std::int64_t levels);

  /// The time by which a child with so many levels must have answered. `to_child` is the round trip that is
  /// allowed for it alone; the one of all counts if it is longer.
  time_point child_due(time_point now, std::int64_t levels, nanoseconds to_child = nanoseconds(0)) const;
  /// The value that the head tells a child: the remaining time with a deadline, else 0.
  std::uint64_t remaining_ns(time_point now) const;
  /// The time kept for `finish`.
  nanoseconds finishing() const noexcept { return margin / 4; }

  /// From here on only the round trip is allowed for; there is no more processing time.
  void shorten_to_round_trip(time_point now, std::int64_t levels);
  time_point child_due_in_round_trip(time_point now, std::int64_t levels) const;
  /// Extends the processing bound to `bound`. Returns the increase, or zero if `bound` is not longer than the
  /// present one.
  nanoseconds extend(nanoseconds bound);
};

/// The time by which a request that arrived at `arrived` must be admitted or refused, so that its sender still
/// hears of it.
time_point time_to_admit(time_point arrived, const collective_head& head);

}  // namespace scoll::detail
