#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace scoll::wire {
class reader;
class writer;
}  // namespace scoll::wire

namespace scoll::detail {

/// A creator's statement about the groups of its present life: no creation of a group is under way whose
/// counter is below `below`, except for those named. A creation that arrives all the same is late and is
/// refused.
struct creation_statement {
  static constexpr std::size_t most_exceptions = 8;

  std::uint64_t below = 0;
  std::uint8_t count = 0;
  std::array<std::uint64_t, most_exceptions> exceptions{};  ///< the first `count`, ascending

  std::span<const std::uint64_t> excepted() const noexcept { return {exceptions.data(), count}; }
  /// True if the creation of that group is over.
  bool covers(std::uint64_t counter) const noexcept;
};

/// A statement takes at most so many bytes in a message: u64 `below`, u8 `count`, then u64 for each
/// exception.
inline constexpr std::size_t max_statement_bytes = 9 + 8 * creation_statement::most_exceptions;

void put_statement(wire::writer& out, const creation_statement& said);
/// Reads a statement. The result is empty if the bytes are not one.
std::optional<creation_statement> take_statement(wire::reader& in);

/// The counters of the groups that this life of a node has created, and which of their creations are under
/// way.
class own_creations {
 public:
  /// The counter of a further group. Its creation is under way until `settle`.
  std::uint64_t begin();
  /// The creation is over: all members have joined, or nobody may join any more.
  void settle(std::uint64_t counter) noexcept;
  creation_statement statement() const noexcept;
  std::size_t under_way() const noexcept { return under_way_.size(); }
  /// The creation is over, but nobody here will learn whether the group exists.
  void lose_sight(std::uint64_t counter);
  /// Calls `visit(counter)` for each group that may exist although this node does not hold it: those whose
  /// creation is under way, and those out of sight.
  template <class Visit>
  void each_possible(Visit visit) const {
    for (const std::uint64_t counter : under_way_) visit(counter);
    for (const std::uint64_t counter : out_of_sight_) visit(counter);
  }

 private:
  std::uint64_t next_ = 1;
  std::vector<std::uint64_t> under_way_;    // ascending
  std::deque<std::uint64_t> out_of_sight_;  // the latest of them
};

}  // namespace scoll::detail
