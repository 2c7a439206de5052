#pragma once

#include <coroutine>

#include "scoll/coro/assert.hpp"

namespace scoll {

/// One unit of work for an executor: a link in its ready list and a function. The node lives in the object it
/// resumes. It must not move from `schedule` until it has run or has been removed, and it must not be
/// scheduled twice at once.
class ready_node {
 public:
  using function = void (*)(ready_node&) noexcept;

  constexpr explicit ready_node(function run) noexcept : run_(run) {}
  ready_node(const ready_node&) = delete;
  ready_node& operator=(const ready_node&) = delete;

  bool scheduled() const noexcept { return scheduled_; }

 protected:
  ~ready_node() = default;

 private:
  friend class ready_list;

  function run_;
  ready_node* next_ = nullptr;
  ready_node* previous_ = nullptr;
  bool scheduled_ = false;
};

/// A ready node that resumes a coroutine.
class coroutine_node final : public ready_node {
 public:
  explicit coroutine_node(std::coroutine_handle<> handle = {}) noexcept : ready_node(&run), handle_(handle) {}
  ~coroutine_node() = default;

  void set(std::coroutine_handle<> handle) noexcept { handle_ = handle; }

 private:
  static void run(ready_node& node) noexcept { static_cast<coroutine_node&>(node).handle_.resume(); }

  std::coroutine_handle<> handle_;
};

/// A first-in first-out list of ready nodes. It is doubly linked so that a waiter that is destroyed can leave
/// it.
class ready_list {
 public:
  bool empty() const noexcept { return head_ == nullptr; }

// GCC 12 cannot see that a node on the stack leaves the list before it is destroyed.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdangling-pointer"
#endif
  void push(ready_node& node) noexcept {
    SCOLL_ASSERT(!node.scheduled_, "a ready node was scheduled twice");
    node.scheduled_ = true;
    node.next_ = nullptr;
    node.previous_ = tail_;
    (tail_ ? tail_->next_ : head_) = &node;
    tail_ = &node;
  }
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

  void remove(ready_node& node) noexcept {
    if (!node.scheduled_) return;
    (node.previous_ ? node.previous_->next_ : head_) = node.next_;
    (node.next_ ? node.next_->previous_ : tail_) = node.previous_;
    node.scheduled_ = false;
  }

  /// Removes the first node and runs it. The node may be gone afterwards.
  void run_front() noexcept {
    ready_node& node = *head_;
    remove(node);
    node.run_(node);
  }

 private:
  ready_node* head_ = nullptr;
  ready_node* tail_ = nullptr;
};

}  // namespace scoll
