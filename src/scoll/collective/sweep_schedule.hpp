#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>

#include "scoll/collective/counter_ranges.hpp"
#include "scoll/coro/random.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

/// One life of a creator. A member asks about the groups that it made.
struct creator_life {
  node_id creator = 0;
  std::uint64_t incarnation = 0;
  friend constexpr auto operator<=>(const creator_life&, const creator_life&) = default;
};

/// The times at which a member asks about the groups of each creator, and the groups that each question is
/// about. It sends nothing itself and reads no clock.
///
/// Each life is asked about once per lease, which is longer or shorter by up to a tenth, so that the members
/// of a group do not ask at the same time.
class sweep_schedule {
 public:
  sweep_schedule(nanoseconds lease, std::uint64_t seed) noexcept : lease_(lease), random_(seed) {}

  /// Begins to ask about the groups of a life. The first question is due after a lease.
  void watch(const creator_life& of, time_point now);
  void end(const creator_life& of) { watched_.erase(of); }
  void clear() noexcept { watched_.clear(); }
  std::size_t size() const noexcept { return watched_.size(); }

  /// The time of the next question; `never` if there is none.
  time_point due() const noexcept;
  /// The life that has been due for longest, if one is due. Its question counts as unanswered until
  /// `answered`, and the next one is due after a lease.
  std::optional<creator_life> next(time_point now);
  /// The creator has answered or refused.
  void answered(const creator_life& of) noexcept;
  /// The number of questions in a row that the creator has not answered, without the one that is under way.
  int unanswered(const creator_life& of) const noexcept;
  /// The number of questions so far, the one under way included.
  std::uint64_t questions(const creator_life& of) const noexcept;

  /// The part of the counters that the present question is about: as many as its message has room for. The
  /// next question goes on from there.
  counter_ranges portion(const creator_life& of, const counter_ranges& held, std::size_t room_bytes);

 private:
  struct state {
    time_point due{};
    std::uint64_t questions = 0;
    int open = 0;            ///< questions since the last answer
    std::uint64_t from = 0;  ///< the counter from which the next question goes on
  };
  nanoseconds drawn_lease() noexcept;

  nanoseconds lease_;
  random_generator random_;
  std::map<creator_life, state> watched_;
};

}  // namespace scoll::detail
