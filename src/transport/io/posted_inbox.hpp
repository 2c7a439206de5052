#pragma once

#include <atomic>
#include <utility>

#include "scoll/coro/executor.hpp"

namespace scoll::transport {

/// What other threads hand over: many push, one takes all. Lock-free, without allocation, first in first out.
///
/// The owner announces its sleep, and only the first who pushes after that has to wake it. Both sides write
/// their word before they read the other's, in one total order, so that never both miss.
class posted_inbox {
 public:
  /// From any thread. True if the owner sleeps and the caller has to wake it. `node` may be gone when this
  /// returns.
  bool push(posted_node& node) noexcept {
    posted_node* head = head_.load(std::memory_order_relaxed);
    do {
      node.next = head;
    } while (!head_.compare_exchange_weak(head, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst);
  }

  /// By the owner, before it blocks. False if something has been pushed: then it must not block.
  bool fall_asleep() noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) == nullptr) return true;
    return false;
  }
  void awake() noexcept { asleep_.store(false, std::memory_order_relaxed); }

  /// Runs all that was pushed until now, oldest first. Returns whether there was anything.
  bool run_all() noexcept {
    if (head_.load(std::memory_order_relaxed) == nullptr) return false;
    posted_node* newest = head_.exchange(nullptr, std::memory_order_acquire);
    posted_node* oldest = nullptr;
    while (newest != nullptr) {
      posted_node* const below = std::exchange(newest->next, oldest);
      oldest = std::exchange(newest, below);
    }
    while (oldest != nullptr) {
      posted_node& node = *oldest;
      oldest = node.next;
      node.run();
    }
    return true;
  }

 private:
  std::atomic<posted_node*> head_{nullptr};
  alignas(64) std::atomic<bool> asleep_{true};
};

}  // namespace scoll::transport
