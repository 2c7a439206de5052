#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "scoll/collective/counter_ranges.hpp"
#include "scoll/collective/creation_statement.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

enum class group_fate : std::uint8_t { none, destroyed, revoked };

/// The end or the revoke of a group, with the node that caused it and the application's reason.
struct group_ending {
  group_fate fate = group_fate::none;
  node_id by = 0;
  std::uint64_t reason = 0;
  bool gone = true;  ///< false: it is only known to be revoked, and other members may hold it

  explicit operator bool() const noexcept { return fate != group_fate::none; }
};

/// The memory of a node of groups that it does not hold any more, or of whose end it has heard before their
/// creation. It is pure state, without a clock.
///
/// For each life of a creator there is the creator's latest statement, and a list of groups whose creation
/// may still arrive although they have ended. A statement empties the list, as far as it covers it, and the
/// end of the life removes everything. A tombstone that may be needed is never evicted: a full list refuses
/// further ones, and creations of that life are refused as long as it is full. Groups that outlive their
/// creator, and out-of-band groups, have a table of their own, from which the oldest is evicted.
class tombstones {
 public:
  explicit tombstones(std::size_t most_of_life = max_tombstones_of_life,
                      std::size_t most_others = max_other_tombstones) noexcept
      : most_of_life_(most_of_life), most_others_(most_others) {}

  /// The end of the group, if a creation of it that arrives now has to be refused because of that end.
  group_ending refusal_of(const group_id& id) const noexcept;
  /// The end of the group, if this node remembers one. A creator's statement says nothing about that.
  group_ending end_of(node_id creator, std::uint64_t incarnation, std::uint64_t counter) const noexcept;
  /// The end of a group that outlives its creator, if this node has heard of one.
  group_ending end_of_lasting(const group_id& id) const noexcept;
  /// The counters of that life's groups that are known to be gone.
  counter_ranges ended_of(node_id creator, std::uint64_t incarnation) const;
  /// False if creations of that life have to wait, because its list is full.
  bool admits_creations(node_id creator, std::uint64_t incarnation) const noexcept;

  /// Remembers the end of a group that ends with its creator. `may_come`: a message that creates it may still
  /// arrive. Returns false if the list is full of tombstones that may be needed; nothing has changed then.
  bool bury(const group_id& id, const group_ending& end, bool may_come);
  /// Remembers the end of a group that outlives its creator, or that has none. The first end stands; a later
  /// one can only say that the group is gone.
  void bury_other(const group_id& id, const group_ending& end);
  /// Takes a statement of the creator. Statements may come in any order; an older one changes nothing.
  void hear(node_id creator, std::uint64_t incarnation, const creation_statement& said);
  /// Removes what is known of lives of `creator` up to `last_incarnation`.
  void end_lives(node_id creator, std::uint64_t last_incarnation) noexcept;

  /// The number of tombstones of groups that end with their creators, and of lives that have some.
  std::size_t size() const noexcept;
  std::size_t lives() const noexcept { return lives_.size(); }
  std::size_t others() const noexcept { return others_.size(); }

 private:
  struct stone {
    std::uint64_t counter = 0;
    std::uint64_t reason = 0;
    node_id by = 0;
    group_fate fate = group_fate::destroyed;
    bool gone = true;
    bool may_come = false;
  };
  struct life {
    creation_statement said;
    std::vector<stone> stones;  // by counter
    std::size_t needed = 0;     // those whose creation may come
  };
  using life_id = std::pair<node_id, std::uint64_t>;

  static constexpr std::size_t lives_of_a_creator = 2;

  const life* find(node_id creator, std::uint64_t incarnation) const noexcept;
  life& of(node_id creator, std::uint64_t incarnation);
  static const stone* find(const life& in, std::uint64_t counter) noexcept;
  static bool make_room(life& in, std::size_t most) noexcept;

  std::size_t most_of_life_;
  std::size_t most_others_;
  std::map<life_id, life> lives_;
  std::map<group_id, group_ending> others_;
  std::deque<group_id> order_;  // of `others_`, the oldest first
};

}  // namespace scoll::detail
