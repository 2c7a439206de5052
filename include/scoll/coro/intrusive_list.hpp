#pragma once

#include <cstddef>

#include "scoll/coro/assert.hpp"

namespace scoll {

/// A base class for the elements of a list; `Tag` tells several lists of one object apart. An object leaves
/// its list when it is destroyed.
template <class Tag = void>
class list_hook {
 public:
  list_hook() noexcept = default;
  ~list_hook() { unlink(); }
  list_hook(const list_hook&) = delete;
  list_hook& operator=(const list_hook&) = delete;

  bool linked() const noexcept { return next_ != nullptr; }
  void unlink() noexcept {
    if (next_ == nullptr) return;
    previous_->next_ = next_;
    next_->previous_ = previous_;
    next_ = previous_ = nullptr;
  }

 private:
  template <class T, class U>
  friend class intrusive_list;

  list_hook* next_ = nullptr;
  list_hook* previous_ = nullptr;
};

/// A doubly linked list that does not own its elements. It never allocates, and it removes an element in
/// O(1). A list that is destroyed unlinks the elements that are left.
template <class T, class Tag = void>
class intrusive_list {
  using hook = list_hook<Tag>;

 public:
  intrusive_list() noexcept { head_.next_ = head_.previous_ = &head_; }
  ~intrusive_list() {
    while (!empty()) head_.next_->unlink();
    head_.next_ = head_.previous_ = nullptr;
  }
  intrusive_list(const intrusive_list&) = delete;
  intrusive_list& operator=(const intrusive_list&) = delete;

  bool empty() const noexcept { return head_.next_ == &head_; }
  // An element that is destroyed unlinks itself through `previous_`, which the analyser does not know to be
  // the head. NOLINTNEXTLINE(clang-analyzer-cplusplus.NewDelete)
  T& front() noexcept { return static_cast<T&>(*head_.next_); }
  T& back() noexcept { return static_cast<T&>(*head_.previous_); }

  void push_back(T& element) noexcept { insert_before(head_, element); }
  void push_front(T& element) noexcept { insert_before(*head_.next_, element); }
  T& pop_front() noexcept {
    hook& first = *head_.next_;  // it is linked, so unlink() and its test are not needed
    head_.next_ = first.next_;
    first.next_->previous_ = &head_;
    first.next_ = first.previous_ = nullptr;
    return static_cast<T&>(first);
  }

  /// Returns the element after `element`, or null at the end.
  T* next(T& element) noexcept {
    hook* following = static_cast<hook&>(element).next_;
    return following == &head_ ? nullptr : static_cast<T*>(following);
  }
  T* first() noexcept { return empty() ? nullptr : &front(); }

  /// Moves all elements of `other` to the end of this list.
  void splice(intrusive_list& other) noexcept {
    if (other.empty()) return;
    hook* first = other.head_.next_;
    hook* last = other.head_.previous_;
    other.head_.next_ = other.head_.previous_ = &other.head_;
    first->previous_ = head_.previous_;
    head_.previous_->next_ = first;
    last->next_ = &head_;
    head_.previous_ = last;
  }

 private:
  static void insert_before(hook& position, hook& element) noexcept {
    SCOLL_ASSERT(element.next_ == nullptr, "an element is in a list already");
    element.next_ = &position;
    element.previous_ = position.previous_;
    position.previous_->next_ = &element;
    position.previous_ = &element;
  }

  hook head_;
};

}  // namespace scoll
