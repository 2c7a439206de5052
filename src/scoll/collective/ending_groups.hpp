#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "scoll/collective/limits.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/coro/error.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

/// True if a member that refused to forget a group for this reason does not hold that group.
inline bool shows_no_group(const error& why) noexcept {
  return why == errc::unknown_group || why == errc::membership_changed;
}

/// A husk: the part of a group that a node keeps after it has ended the group, until all members have been
/// told. Any life of a member is told; a life that does not hold the group says so.
struct ended_group {
  group_id id;
  service_id service{};
  std::uint32_t self_rank = 0;
  std::uint64_t next_counter = 1;  ///< the counter of the next request to forget the group
  lifetime ends_with = lifetime::creator;
  std::vector<node_id> untold;
};

/// The groups that have been ended here while members were missing, and the time at which each of these
/// members is told next. It sends nothing itself and reads no clock.
///
/// The pauses belong to a member, not to a group: a member that does not answer is tried for one group at a
/// time, and one that answers is told of all its groups without a pause. A dead member is not told while it
/// is dead. A group whose untold members are all dead waits for nobody; it is still kept, in case a verdict
/// was wrong, until its place is needed. The table is bounded; a place is reserved before a group ends.
class ending_groups {
 public:
  static constexpr nanoseconds first_pause = std::chrono::milliseconds(100);
  static constexpr nanoseconds longest_pause = std::chrono::seconds(10);

  explicit ending_groups(std::size_t most = max_ending_groups) noexcept : most_(most) {}

  /// The number of groups of which some members that are not dead have not been told.
  std::size_t waiting() const noexcept;
  std::size_t most() const noexcept { return most_; }
  /// Takes a place, which `keep` or `release` gives up. Returns false if all are taken.
  [[nodiscard]] bool reserve() noexcept;
  void release() noexcept { --reserved_; }
  /// Keeps a group, which has untold members, in a place that was reserved. Its members are told from
  /// `first_pause` on.
  void keep(ended_group group, time_point now);
  /// The nodes that have not been told of the group's end and are not dead.
  std::vector<node_id> untold(const group_id& id) const;
  void clear() noexcept;

  /// One request: a member is told of one group.
  struct turn {
    group_id id;
    service_id service{};
    std::uint32_t self_rank = 0;
    std::uint64_t counter = 0;
    lifetime ends_with = lifetime::creator;
    node_id node = 0;
  };
  /// The request that has been due for longest. Its member gets no other one until `told` or `missed`.
  /// Nothing if none is due.
  std::optional<turn> next(time_point now);
  /// The time at which `next` has something to give; `never` if there is nothing but requests under way.
  time_point due() const noexcept;
  /// A request has ended: the member does not hold the group any more.
  void told(const group_id& id, node_id node, time_point now);
  /// A request has ended, and the member may still hold the group.
  void missed(node_id node, time_point now);

  /// The member does not hold the group any more, as another way has shown.
  void settle(const group_id& id, node_id node);
  /// The node is dead.
  void died(node_id node);
  /// The node lives, which is news. It is told at once.
  void heard_of(node_id node, time_point now);

 private:
  struct husk {
    ended_group group;
    std::size_t alive = 0;  ///< the untold members that are not dead
  };
  struct listener {
    std::size_t groups = 0;  ///< the groups of which it has not been told; never 0
    nanoseconds pause = first_pause;
    time_point due{};
    bool asked = false;  ///< a request is under way
    bool dead = false;

    /// The time of the next request; `never` as long as there can be none.
    time_point turn_at() const noexcept { return asked || dead ? never : due; }
  };
  using listener_map = std::map<node_id, listener>;

  static bool has(const ended_group& group, node_id node) noexcept;
  void give_up(const group_id& id);
  bool is_dead(node_id node) const { return listeners_.at(node).dead; }
  void stop_telling(node_id node);
  void change_alive(node_id node, bool alive) noexcept;
  template <class Change>
  void change(listener_map::iterator at, const Change& how) noexcept;

  std::size_t most_;
  std::size_t reserved_ = 0;
  std::map<group_id, husk> husks_;
  listener_map listeners_;
  std::set<std::pair<time_point, node_id>> turns_;  // all listeners, in the order of their next requests
};

}  // namespace scoll::detail
