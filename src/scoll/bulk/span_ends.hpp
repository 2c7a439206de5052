#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace scoll::detail {

/// Finds the span in which a byte of an object lies, among many that count as one. It keeps its memory for the
/// next object.
class span_ends {
 public:
  template <class Spans>
  void assign(const Spans& spans) {
    ends_.clear();
    std::uint64_t end = 0;
    for (const auto& span : spans) ends_.push_back(end += span.size());
  }
  void clear() noexcept { ends_.clear(); }

  /// The index of the span with the byte at `offset`, which is below the size of the object. O(log spans).
  std::size_t span_of(std::uint64_t offset) const noexcept {
    return static_cast<std::size_t>(std::ranges::upper_bound(ends_, offset) - ends_.begin());
  }
  /// The offset of the first byte of a span.
  std::uint64_t begin_of(std::size_t span) const noexcept { return span == 0 ? 0 : ends_[span - 1]; }

 private:
  std::vector<std::uint64_t> ends_;
};

}  // namespace scoll::detail
