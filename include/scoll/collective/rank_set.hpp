#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "scoll/coro/assert.hpp"

namespace scoll {

/// A half-open range of ranks.
struct rank_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;
  constexpr std::uint32_t size() const noexcept { return last - first; }
  friend constexpr bool operator==(const rank_range&, const rank_range&) = default;
};

/// A set of ranks, kept as sorted ranges that do not touch. This form is short for people and messages ("0-6,
/// 9").
class rank_set {
 public:
  rank_set() = default;
  /// Makes a set of ranks given in any order. Repeated ranks count once.
  rank_set(std::initializer_list<std::uint32_t> ranks);
  /// All ranks below `members`.
  static rank_set all(std::uint32_t members) {
    rank_set set;
    if (members != 0) set.append(0, members);
    return set;
  }

  bool empty() const noexcept { return ranges_.empty(); }
  std::uint32_t size() const noexcept {
    std::uint32_t sum = 0;
    for (const rank_range& r : ranges_) sum += r.size();
    return sum;
  }
  bool contains(std::uint32_t rank) const noexcept;
  const std::vector<rank_range>& ranges() const noexcept { return ranges_; }

  /// Adds the ranks [first, last), which must not lie before the end of the set. O(1).
  void append(std::uint32_t first, std::uint32_t last) {
    SCOLL_ASSERT(first < last && (ranges_.empty() || ranges_.back().last <= first),
                 "ranks are appended in order");
    if (!ranges_.empty() && ranges_.back().last == first) {
      ranges_.back().last = last;
    } else {
      ranges_.push_back({first, last});
    }
  }

  /// Calls `fn(rank)` for each rank, in ascending order.
  template <class Fn>
  void for_each(Fn fn) const {
    for (const rank_range& r : ranges_) {
      for (std::uint32_t rank = r.first; rank != r.last; ++rank) fn(rank);
    }
  }

  friend bool operator==(const rank_set&, const rank_set&) = default;
  /// Union, intersection and difference take time linear in the number of ranges.
  friend rank_set operator|(const rank_set& a, const rank_set& b);
  friend rank_set operator&(const rank_set& a, const rank_set& b);
  friend rank_set operator-(const rank_set& a, const rank_set& b);

 private:
  std::vector<rank_range> ranges_;
};

/// Writes a set as "0-6, 9", or as "none" if it is empty.
std::string to_string(const rank_set& set);

}  // namespace scoll
