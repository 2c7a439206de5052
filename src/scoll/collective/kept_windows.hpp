#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "scoll/collective/group_state.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/ids.hpp"

namespace scoll::detail {

/// The replay windows of groups that a node does not hold any more, and whose id may come back: of
/// out-of-band groups, and of delayed ones that ended because their creator was called dead. So no operation
/// is admitted twice. The table is bounded; the windows that were kept first are given up first. It also keeps
/// the operations of such a group that are rooted here and still run, and keeps an operation that is rooted here
/// from getting the counter of an earlier one of any group.
class kept_windows {
 public:
  explicit kept_windows(std::size_t most = max_kept_windows) noexcept : most_(most) {}

  /// Takes over the windows of a group that this node drops.
  void keep(group_state& group);
  /// Gives back the windows that were kept of a group that this node makes known, and sets its counter. If
  /// windows of it may have been given up, its `window_gap` is set.
  void give_back(group_state& group);

  /// The number of windows that are kept; a group without any counts as one.
  std::size_t size() const noexcept { return size_; }

 private:
  struct kept_group {
    std::vector<group_state::root_window> windows;
    std::shared_ptr<rooted_operations> rooted;
    std::uint64_t order = 0;

    std::size_t size() const noexcept { return std::max(windows.size(), std::size_t{1}); }
  };
  void give_up_first();

  std::size_t most_;
  std::size_t size_ = 0;
  std::map<group_id, kept_group> groups_;
  std::uint64_t next_order_ = 0;
  std::uint64_t next_counter_ = 1;  // beyond all counters of the groups that this node held
  bool gave_up_ = false;
};

}  // namespace scoll::detail
