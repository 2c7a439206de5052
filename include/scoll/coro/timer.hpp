#pragma once

#include <cstdint>

#include "scoll/coro/assert.hpp"
#include "scoll/coro/time.hpp"

namespace scoll {

/// One armed point in time. It lives in the object that waits, and its executor arms and disarms it. Its
/// function runs on the executor, once per arming, never early. Timers of equal times fire in the order in
/// which they were armed.
class timer_node {
 public:
  using function = void (*)(timer_node&) noexcept;

  explicit timer_node(function fire) noexcept : fire_(fire) {}
  timer_node(const timer_node&) = delete;
  timer_node& operator=(const timer_node&) = delete;

  bool armed() const noexcept { return armed_; }
  time_point at() const noexcept { return at_; }

 protected:
  ~timer_node() { SCOLL_ASSERT(!armed_, "a timer was destroyed while armed"); }

 private:
  friend class timer_heap;

  bool before(const timer_node& other) const noexcept {
    return at_ != other.at_ ? at_ < other.at_ : order_ < other.order_;
  }

  function fire_;
  time_point at_{};
  std::uint64_t order_ = 0;
  timer_node* child_ = nullptr;     // first child
  timer_node* sibling_ = nullptr;   // next sibling
  timer_node* previous_ = nullptr;  // parent if first child, else previous sibling
  bool armed_ = false;
};

/// An intrusive pairing heap: insertion takes O(1), pop and removal take O(log n) amortised. It never
/// allocates.
class timer_heap {
 public:
  bool empty() const noexcept { return root_ == nullptr; }
  time_point earliest() const noexcept { return root_ ? root_->at_ : never; }

  void insert(timer_node& node, time_point at) noexcept;
  void remove(timer_node& node) noexcept;
  /// Removes the earliest node and runs it, if it is due at `now`.
  bool fire_one(time_point now) noexcept {
    if (root_ == nullptr || root_->at_ > now) return false;
    fire_first();
    return true;
  }

 private:
  void fire_first() noexcept;
  static timer_node* meld(timer_node* a, timer_node* b) noexcept;
  static timer_node* merge_pairs(timer_node* first) noexcept;

  timer_node* root_ = nullptr;
  std::uint64_t next_order_ = 0;
};

}  // namespace scoll
