#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "scoll/collective/operation/end_cause.hpp"
#include "scoll/collective/operation/life_permits.hpp"
#include "scoll/collective/options.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"

namespace scoll::detail {

class operation;
struct addressees;

/// Says why a broadcast to these members cannot be repaired.
error why_no_repair(const bcast_options& options, const addressees& to);

/// The repair of a broadcast, on its root: members that are lost, or were never reached, are asked again by another
/// way, in further rounds of the same broadcast. A round is an operation of its own, which executes nothing here. Its
/// account and its value enter those of the broadcast when it has ended. So the rounds add up disjoint members, for
/// nobody who is merged is asked again.
///
/// ```text
///   a loss ─► gather for one round trip ─┬─► whoever was lost itself, and few others ─► a flat round ─► final
///                                        └─► many others ─► a round over the group's tree ─► lost again ─┘
/// ```
class broadcast_repair {
 public:
  explicit broadcast_repair(operation& op);
  ~broadcast_repair();
  broadcast_repair(const broadcast_repair&) = delete;
  broadcast_repair& operator=(const broadcast_repair&) = delete;

  /// Writes the permits of the first round (`life_permits`). Returns the end of what it has written.
  std::byte* write_permits(std::byte* at) const;
  /// Divides the time of the broadcast between the first round and those that follow.
  void set_times();
  /// Takes what rounds have settled, and begins others. It is for moments at which every value in the account is
  /// merged.
  void go_on();
  /// True if no round runs or will.
  bool is_over() const noexcept { return rounds_.empty() && due_ == never; }
  /// The time at which `go_on` is to be called.
  time_point due() const noexcept { return due_; }
  /// That time has come.
  void hurry() noexcept;
  /// Ends the rounds for the reason for which the broadcast ends.
  void end_by(end_cause cause, const error& reason) noexcept;
  /// Waits until no round runs, and takes what they have settled.
  task<void> join();
  /// A round has answered.
  void heard() noexcept;

 private:
  /// Rounds that run at once, and all of one broadcast.
  static constexpr std::size_t most_at_once = 2;
  static constexpr std::uint16_t most_rounds = 8;
  /// So many members that were not lost themselves are asked without a tree between.
  static constexpr std::uint32_t most_in_flat_round = 16;
  /// So many runs of ranks are asked in one round, so that their encoded form always fits.
  static constexpr std::size_t most_runs = 512;
  /// The bytes of a run of ranks beside tags of lives, in groups of up to two million members.
  static constexpr std::size_t bytes_of_a_run = 5;

  /// A round that runs, or has answered, and the relative ranks in the broadcast of those that it asks.
  struct asking {
    operation* round = nullptr;
    rank_set members;
  };
  /// Members to be asked, by relative rank.
  struct open_members {
    rank_set lost;       ///< directly, by their parents, or after a round over a tree
    rank_set others;     ///< below these
    rank_set untouched;  ///< those of both to whom no request has come
    bool empty() const noexcept { return lost.empty() && others.empty(); }
  };

  life_tag present_life(std::uint32_t relative) const;
  open_members find_open() const;
  bool has_room_beside(const rank_set& members) const;
  bool is_held_dead(std::uint32_t relative) const;
  bool is_asked_now(std::uint32_t relative) const;
  void begin_rounds();
  bool begin_round(const rank_set& members, const rank_set& untouched, bool flat);
  operation* make_round(const rank_set& members, const rank_set& untouched, bool flat);
  status give_request(operation& round, const rank_set& untouched, bool flat);
  void take(operation& round);

  operation& op_;
  std::vector<asking> rounds_;
  std::uint16_t begun_ = 0;
  bool ripe_ = false;
  time_point due_ = never;
  life_permits permits_;
  rank_set asked_;  // in a round over a tree
  rank_set final_;  // asked by this node itself, so that nothing else can be tried
};

}  // namespace scoll::detail
