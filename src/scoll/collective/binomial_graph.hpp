#pragma once

/// The graph over which a group is revoked. A notice goes to all neighbours, so that it reaches everybody
/// although some have died. The graph is made twice, and an edge of either counts: over all ranks, which
/// needs no agreement on who is dead, and over the living, which closes the gaps that known deaths leave.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {

/// The number of neighbours of each rank among n members of whom none is held dead: the different ranks among
/// r ± 2^k modulo n. If fewer members than that are dead, the others are connected, and it does not matter
/// which of them know of the dead.
constexpr std::uint32_t binomial_degree(std::uint32_t n) noexcept {
  std::uint32_t count = 0;
  for (std::uint64_t step = 1; step < n; step *= 2) {
    const std::uint64_t back = n - step;  // the same edge as another one if this is a power of two as well
    count += (back & (back - 1)) == 0 ? 1 : 2;
  }
  return count;
}

/// The neighbours of one rank, farthest first.
class rank_list {
 public:
  constexpr const std::uint32_t* begin() const noexcept { return ranks_.data(); }
  constexpr const std::uint32_t* end() const noexcept { return ranks_.data() + size_; }
  constexpr std::size_t size() const noexcept { return size_; }
  constexpr bool contains(std::uint32_t rank) const noexcept {
    return std::find(begin(), end(), rank) != end();
  }
  constexpr void push_back(std::uint32_t rank) noexcept { ranks_[size_++] = rank; }
  constexpr std::span<std::uint32_t> all() noexcept { return {ranks_.data(), size_}; }

 private:
  // Two directions and 32 distances, in two graphs.
  std::array<std::uint32_t, 128> ranks_{};
  std::size_t size_ = 0;
};

/// The graph among n members, as seen by a member that holds some of the others dead. It is a pure value.
class binomial_graph {
  // It stands before its uses: clang instantiates a template in a constant expression only after its body.
  template <class Add>
  static constexpr void each_step(std::uint32_t from, std::uint32_t size, const Add& add) noexcept {
    for (std::uint64_t step = 1; step < size; step *= 2) {
      add(static_cast<std::uint32_t>((from + step) % size));
      add(static_cast<std::uint32_t>((from + size - step) % size));
    }
  }

 public:
  /// `dead` are ranks below n, ascending, each once. They must stay valid as long as the graph.
  constexpr binomial_graph(std::uint32_t n, std::span<const std::uint32_t> dead) noexcept
      : n_(n), dead_(dead) {
    SCOLL_ASSERT(n != 0 && dead.size() <= n, "a graph has members, and no more dead than members");
  }

  constexpr std::uint32_t members() const noexcept { return n_; }
  constexpr std::uint32_t living() const noexcept { return n_ - static_cast<std::uint32_t>(dead_.size()); }
  constexpr bool is_dead(std::uint32_t rank) const noexcept {
    return std::binary_search(dead_.begin(), dead_.end(), rank);
  }

  /// The living neighbours of `rank`, which is below n: ranks r ± 2^k modulo n, and, with i the index of
  /// `rank` among the m living, those with the indices i ± 2^k modulo m. Each is named once. Farther ones, in
  /// steps around the ring of all ranks, come first; of two that are equally far, the one ahead comes first.
  /// A rank that is itself held dead has only the neighbours of the first kind. O(log n · log dead).
  constexpr rank_list neighbours(std::uint32_t rank) const noexcept {
    rank_list found;
    const auto add = [&](std::uint32_t other) {
      if (other != rank && !is_dead(other) && !found.contains(other)) found.push_back(other);
    };
    each_step(rank, n_, add);
    if (!dead_.empty() && !is_dead(rank)) {
      each_step(index_of(rank), living(), [&](std::uint32_t index) { add(rank_of(index)); });
    }
    const auto ahead = [&](std::uint32_t other) { return other > rank ? other - rank : other + (n_ - rank); };
    const auto farther = [&](std::uint32_t left, std::uint32_t right) {
      const std::uint32_t l = ahead(left), r = ahead(right);
      const std::uint32_t far_l = std::min(l, n_ - l), far_r = std::min(r, n_ - r);
      return far_l != far_r ? far_l > far_r : l < r;
    };
    const auto all = found.all();
    std::sort(all.begin(), all.end(), farther);
    return found;
  }

  /// The ranks r ± 2^k modulo n that are held dead. A notice is owed to each of them, in case it lives.
  constexpr rank_list skipped(std::uint32_t rank) const noexcept {
    rank_list found;
    each_step(rank, n_, [&](std::uint32_t other) {
      if (other != rank && is_dead(other) && !found.contains(other)) found.push_back(other);
    });
    return found;
  }

 private:
  constexpr std::uint32_t index_of(std::uint32_t rank) const noexcept {
    const auto before = std::lower_bound(dead_.begin(), dead_.end(), rank) - dead_.begin();
    return rank - static_cast<std::uint32_t>(before);
  }
  /// Finds the living rank with that index: `dead_[j] - j` living ranks are below the j-th dead one.
  constexpr std::uint32_t rank_of(std::uint32_t index) const noexcept {
    std::uint32_t low = 0, high = static_cast<std::uint32_t>(dead_.size());
    while (low < high) {
      const std::uint32_t middle = low + (high - low) / 2;
      if (dead_[middle] - middle <= index) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return index + low;
  }

  std::uint32_t n_;
  std::span<const std::uint32_t> dead_;
};

}  // namespace scoll::detail
