#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace scoll::detail {

/// The number of letters that must be inserted, removed or changed to turn one word into the other.
inline std::size_t spelling_distance(std::string_view from, std::string_view to) {
  std::vector<std::size_t> row(to.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i + 1);
    for (std::size_t k = 0; k < to.size(); ++k) {
      const std::size_t changed = diagonal + (from[i] == to[k] ? 0 : 1);
      diagonal = row[k + 1];
      row[k + 1] = std::min({changed, diagonal + 1, row[k] + 1});
    }
  }
  return row.back();
}

/// The candidate that `word` may be a misspelling of: the nearest one, at most two letters away and fewer
/// than the word has; empty if there is none.
template <class Candidates>
std::string nearest_spelling(std::string_view word, const Candidates& candidates) {
  std::size_t best = std::min<std::size_t>(3, word.size());  // allows two swapped letters, or two errors
  std::string found;
  for (const auto& each : candidates) {
    const std::string_view candidate(each);
    const std::size_t away = spelling_distance(word, candidate);
    if (away >= best) continue;
    best = away;
    found = candidate;
  }
  return found;
}

}  // namespace scoll::detail
