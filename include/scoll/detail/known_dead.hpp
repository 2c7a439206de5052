#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "../ids.hpp"

namespace scoll::detail {

/// Who is dead as far as this node has heard, with the incarnation that died: sorted by node, empty nearly
/// always.
class known_dead {
 public:
  struct entry {
    node_id node = 0;
    std::uint64_t incarnation = 0;
  };

  bool empty() const noexcept { return entries_.empty(); }
  const std::vector<entry>& entries() const noexcept { return entries_; }
  bool contains(node_id node) const noexcept {
    const auto at = place(node);
    return at != entries_.end() && at->node == node;
  }

  void add(node_id node, std::uint64_t incarnation) {
    const auto at = entries_.begin() + (place(node) - entries_.begin());
    if (at != entries_.end() && at->node == node) {
      at->incarnation = std::max(at->incarnation, incarnation);
    } else {
      entries_.insert(at, {node, incarnation});
    }
  }
  /// It lives in this incarnation: not news if a later one has died.
  void remove(node_id node, std::uint64_t incarnation) noexcept {
    const auto at = place(node);
    if (at != entries_.end() && at->node == node && at->incarnation <= incarnation) entries_.erase(at);
  }

 private:
  std::vector<entry>::const_iterator place(node_id node) const noexcept {
    return std::lower_bound(entries_.begin(), entries_.end(), node,
                            [](const entry& known, node_id wanted) { return known.node < wanted; });
  }

  std::vector<entry> entries_;
};

}  // namespace scoll::detail
