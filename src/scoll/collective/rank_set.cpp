#include "scoll/collective/rank_set.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace scoll {
namespace {

/// Walks both sets from border to border and keeps the ranks for which `wanted(in_a, in_b)` is true.
template <class Wanted>
rank_set combine(const rank_set& a, const rank_set& b, Wanted wanted) {
  std::vector<std::uint32_t> borders;
  for (const rank_set* set : {&a, &b}) {
    for (const rank_range& r : set->ranges()) {
      borders.push_back(r.first);
      borders.push_back(r.last);
    }
  }
  std::sort(borders.begin(), borders.end());
  borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
  rank_set combined;
  auto in_a = a.ranges().begin();
  auto in_b = b.ranges().begin();
  const auto holds = [](auto& at, const auto& end, std::uint32_t rank) {
    while (at != end && at->last <= rank) ++at;
    return at != end && at->first <= rank;
  };
  for (std::size_t i = 0; i + 1 < borders.size(); ++i) {
    const bool of_a = holds(in_a, a.ranges().end(), borders[i]);
    const bool of_b = holds(in_b, b.ranges().end(), borders[i]);
    if (wanted(of_a, of_b)) combined.append(borders[i], borders[i + 1]);
  }
  return combined;
}

}  // namespace

rank_set::rank_set(std::initializer_list<std::uint32_t> ranks) {
  std::vector<std::uint32_t> sorted(ranks);
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  for (const std::uint32_t rank : sorted) append(rank, rank + 1);
}

bool rank_set::contains(std::uint32_t rank) const noexcept {
  const auto after =
      std::upper_bound(ranges_.begin(), ranges_.end(), rank,
                       [](std::uint32_t r, const rank_range& range) { return r < range.last; });
  return after != ranges_.end() && after->first <= rank;
}

rank_set operator|(const rank_set& a, const rank_set& b) {
  return combine(a, b, [](bool in_a, bool in_b) { return in_a || in_b; });
}
rank_set operator&(const rank_set& a, const rank_set& b) {
  return combine(a, b, [](bool in_a, bool in_b) { return in_a && in_b; });
}
rank_set operator-(const rank_set& a, const rank_set& b) {
  return combine(a, b, [](bool in_a, bool in_b) { return in_a && !in_b; });
}

std::string to_string(const rank_set& set) {
  if (set.empty()) return "none";
  std::string text;
  for (const rank_range& r : set.ranges()) {
    if (!text.empty()) text += ", ";
    text += r.size() == 1 ? fmt::format("{}", r.first) : fmt::format("{}-{}", r.first, r.last - 1);
  }
  return text;
}

}  // namespace scoll
