#pragma once

#include <cstdint>

#include "scoll/collective/collective_head.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/coro/time_limit.hpp"

namespace scoll::detail {

/// How long one operation may take on one node, and how long it waits for each child. Plain arithmetic on the
/// times it is given: no clock, no timer.
///
/// With a caller's deadline the remaining time travels down, and each level keeps `margin` of it. Without one, a
/// subtree of d levels is awaited d · (rtt + margin) + processing.
struct operation_times {
  time_point started{};
  time_point expires = never;
  time_limit limit;           ///< of the whole operation; the root's alone
  nanoseconds margin{0};      ///< kept by each level, so that it answers before its parent gives up
  nanoseconds rtt{0};         ///< round trip to a child
  nanoseconds processing{0};  ///< one member's own work
  bool by_deadline = false;
  bool expired = false;  ///< `expires` has passed

  /// On the root, before it begins. Refuses a limit that is too short for `levels` (`deadline_exceeded`).
  status set_bounds(time_limit whole, time_point now, nanoseconds round_trip, nanoseconds level_margin,
                    nanoseconds processing_bound, std::int64_t levels);
  /// On the root: begins `now`; `finishing` is kept for a `finish` hook that has to be waited for.
  void begin_as_root(time_point now, std::int64_t levels, nanoseconds finishing);
  /// On a member: what the head says, from `now` on.
  void begin_as_member(time_point now, const collective_head& head, std::int64_t levels);

  /// When a child with so many levels must have answered.
  time_point child_due(time_point now, std::int64_t levels) const;
  /// What the head tells a child: the remaining time with a deadline, else 0.
  std::uint64_t remaining_ns(time_point now) const;
  /// What is kept for `finish`.
  nanoseconds finishing() const noexcept { return margin / 4; }

  /// From here on only the round trip is allowed for; there is no more processing time.
  void shorten_to_round_trip(time_point now, std::int64_t levels);
  time_point child_due_in_round_trip(time_point now, std::int64_t levels) const;
  /// The processing bound grows to `bound`. Returns by how much: nothing if it is no longer than today's.
  nanoseconds extend(nanoseconds bound);
};

}  // namespace scoll::detail
