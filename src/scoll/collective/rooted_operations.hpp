#pragma once

#include <cstdint>

#include "scoll/coro/intrusive_list.hpp"

namespace scoll::detail {

/// An operation that is rooted here and has not ended, as an element of its group's list.
struct rooted_operation : list_hook<rooted_operation> {
  std::uint64_t counter = 0;
};

/// The operations of one group that are rooted here. A group may end here and come back while some of them still
/// run, because its creator was called dead wrongly, or its members were named anew. Both states of the group then
/// share them, so that the later one's watermark and its last broadcast respect the earlier one's operations.
struct rooted_operations {
  intrusive_list<rooted_operation, rooted_operation> running;  // in the order of their counters
  std::uint64_t last = 0;  // the counter of the last broadcast that is rooted here; 0: none has begun

  /// True if a group that comes back must know of them.
  bool matter() const noexcept { return last != 0 || !running.empty(); }
};

}  // namespace scoll::detail
