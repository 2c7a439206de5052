#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace scoll::testing {

/// A queue, first in, first out. Unlike a std::deque it has no memory until it is used, which matters with a
/// million links.
template <class T>
class small_queue {
 public:
  bool empty() const noexcept { return items_.empty(); }
  std::size_t size() const noexcept { return items_.size() - first_; }
  T& front() noexcept { return items_[first_]; }
  T& back() noexcept { return items_.back(); }
  T& operator[](std::size_t index) noexcept { return items_[first_ + index]; }
  /// Returns true if the queue needed more memory for that.
  bool push_back(T item) {
    constexpr std::size_t worth_it = 16;
    if (first_ >= worth_it && first_ * 2 >= items_.size()) {
      items_.erase(items_.begin(), items_.begin() + static_cast<std::ptrdiff_t>(first_));
      first_ = 0;
    }
    const bool grows = items_.size() == items_.capacity();
    items_.push_back(std::move(item));
    return grows;
  }
  void pop_front() noexcept {
    if (++first_ == items_.size()) clear();
  }
  void clear() noexcept {
    items_.clear();
    first_ = 0;
  }

 private:
  std::vector<T> items_;
  std::size_t first_ = 0;
};

}  // namespace scoll::testing
