#include "scoll/coro/timer.hpp"

namespace scoll {

timer_node* timer_heap::meld(timer_node* a, timer_node* b) noexcept {
  if (a == nullptr) return b;
  if (b == nullptr) return a;
  timer_node* const top = b->before(*a) ? b : a;
  timer_node* const below = top == a ? b : a;
  below->previous_ = top;
  below->sibling_ = top->child_;
  if (top->child_ != nullptr) top->child_->previous_ = below;
  top->child_ = below;
  top->sibling_ = nullptr;
  top->previous_ = nullptr;
  return top;
}

// Makes two passes instead of recursing: a heap filled in descending order is one list of siblings as long as
// the heap.
timer_node* timer_heap::merge_pairs(timer_node* first) noexcept {
  timer_node* pairs = nullptr;
  while (first != nullptr) {
    timer_node* const a = first;
    timer_node* const b = a->sibling_;
    first = b != nullptr ? b->sibling_ : nullptr;
    a->sibling_ = a->previous_ = nullptr;
    if (b != nullptr) b->sibling_ = b->previous_ = nullptr;
    timer_node* const pair = meld(a, b);
    pair->sibling_ = pairs;
    pairs = pair;
  }
  timer_node* root = nullptr;
  while (pairs != nullptr) {
    timer_node* const next = pairs->sibling_;
    pairs->sibling_ = nullptr;
    root = meld(root, pairs);
    pairs = next;
  }
  return root;
}

void timer_heap::insert(timer_node& node, time_point at) noexcept {
  SCOLL_ASSERT(!node.armed_, "a timer was armed twice");
  node.at_ = at;
  node.order_ = next_order_++;
  node.child_ = node.sibling_ = node.previous_ = nullptr;
  node.armed_ = true;
  root_ = meld(root_, &node);
}

void timer_heap::remove(timer_node& node) noexcept {
  if (!node.armed_) return;
  node.armed_ = false;
  if (&node == root_) {
    root_ = merge_pairs(node.child_);
    return;
  }
  (node.previous_->child_ == &node ? node.previous_->child_ : node.previous_->sibling_) = node.sibling_;
  if (node.sibling_ != nullptr) node.sibling_->previous_ = node.previous_;
  root_ = meld(root_, merge_pairs(node.child_));
}

void timer_heap::fire_first() noexcept {
  timer_node& node = *root_;
  remove(node);
  node.fire_(node);
}

}  // namespace scoll
