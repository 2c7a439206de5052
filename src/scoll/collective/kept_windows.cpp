#include "scoll/collective/kept_windows.hpp"

#include <algorithm>
#include <utility>

#include "scoll/coro/assert.hpp"

namespace scoll::detail {

void kept_windows::keep(group_state& group) {
  next_counter_ = std::max(next_counter_, group.next_counter);
  if (group.windows.empty() && !group.rooted->matter()) return;
  kept_group kept{std::move(group.windows), group.rooted, next_order_++};
  group.windows.clear();
  size_ += kept.size();
  const bool added = groups_.emplace(group.id, std::move(kept)).second;
  SCOLL_ASSERT(added, "the windows of a group that is held are not kept");
  while (size_ > most_) give_up_first();
}

void kept_windows::give_back(group_state& group) {
  group.next_counter = next_counter_;
  const auto found = groups_.find(group.id);
  if (found == groups_.end()) {
    group.window_gap = gave_up_;
    return;
  }
  size_ -= found->second.size();
  group.windows = std::move(found->second.windows);
  group.rooted = std::move(found->second.rooted);
  groups_.erase(found);
}

void kept_windows::give_up_first() {
  const auto first = std::min_element(groups_.begin(), groups_.end(), [](const auto& a, const auto& b) {
    return a.second.order < b.second.order;
  });
  gave_up_ = true;
  size_ -= first->second.size();
  groups_.erase(first);
}

}  // namespace scoll::detail
