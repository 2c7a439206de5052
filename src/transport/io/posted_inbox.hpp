#pragma once

#include <atomic>
#include <utility>

#include "scoll/coro/executor.hpp"

namespace scoll::transport {

/// The nodes that other threads hand over: many threads push, one takes all. It is lock-free, does not
/// allocate, and is first in, first out.
///
/// The owner announces its sleep, and only the first thread that pushes after that must wake it. Both sides
/// write their own word before they read the other's, in one total order, so it cannot happen that both miss.
class posted_inbox {
 public:
  /// Pushes a node, from any thread. True if the owner sleeps and the caller must wake it. `node` may be gone
  /// when this returns.
  bool push(posted_node& node) noexcept {
    posted_node* head = head_.load(std::memory_order_relaxed);
    do {
      node.next = head;
    } while (!head_.compare_exchange_weak(head, &node, std::memory_order_seq_cst, std::memory_order_relaxed));
    return asleep_.load(std::memory_order_seq_cst) && asleep_.exchange(false, std::memory_order_seq_cst);
  }

  /// The owner calls this before it blocks. False if something has been pushed; then it must not block.
  bool fall_asleep() noexcept {
    asleep_.store(true, std::memory_order_seq_cst);
    if (head_.load(std::memory_order_seq_cst) == nullptr) return true;
    return false;
  }
  void awake() noexcept { asleep_.store(false, std::memory_order_relaxed); }

  /// Runs all nodes pushed until now, oldest first. Returns true if there were any.
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
