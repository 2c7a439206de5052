#pragma once

#include <cstddef>
#include <memory>

#include "gossip/event.hpp"
#include "scoll/coro/event.hpp"
#include "scoll/coro/task.hpp"

namespace scoll::gossip {

/// A queue of changes for one coroutine, which takes them one by one. Memory is allocated once.
class event_queue final : public event_listener {
 public:
  explicit event_queue(std::size_t capacity = 1024);

  /// Gives the next change, in order. Errors: `stale`, once, if changes were lost because they were not taken
  /// in time: read the participant's state then, whose epoch says which of the following changes are newer;
  /// `cancelled`.
  task<result<liveness_event>> next(stop_token stop);
  std::size_t size() const noexcept { return size_; }

  void on_liveness(const liveness_event& e) noexcept override;

 private:
  std::unique_ptr<liveness_event[]> slots_;
  std::size_t capacity_;
  std::size_t first_ = 0;
  std::size_t size_ = 0;
  bool lost_ = false;
  scoll::event ready_;
};

}  // namespace scoll::gossip
