#include "scoll/coro/frame_pool.hpp"

#include <array>
#include <cstdint>
#include <new>

namespace scoll::frame_pool {
namespace {

struct idle_block {
  idle_block* next;
};

struct size_class {
  idle_block* first;
  std::size_t count;
};

constexpr std::size_t classes = largest_pooled / granule;

// The pool is trivial, so that it can be used until the thread is gone: destructors that run at the thread's
// end may free frames.
struct thread_pool {
  size_class lists[classes];
  statistics counters;
  enum class stage : unsigned char {
    fresh,    // no block has come back yet
    watched,  // a janitor exists
    closed,   // the janitor has run: everything goes to the heap
  } at;
};

constinit thread_local thread_pool pool{};

struct janitor {
  janitor() noexcept = default;
  janitor(const janitor&) = delete;
  janitor& operator=(const janitor&) = delete;
  ~janitor() {
    pool.at = thread_pool::stage::closed;
    trim();
  }
  void touch() const noexcept { pool.at = thread_pool::stage::watched; }
};

thread_local janitor at_thread_end;

constexpr std::size_t class_of(std::size_t size) noexcept {
  return size == 0 ? 0 : (size - 1) / granule;
}
[[maybe_unused]] constexpr std::size_t class_bytes(std::size_t index) noexcept {
  return (index + 1) * granule;
}

/// The number of idle blocks that each class may keep.
[[maybe_unused]] constexpr auto most_idle = [] {
  std::array<std::uint32_t, classes> most{};
  for (std::size_t i = 0; i < classes; ++i)
    most[i] = static_cast<std::uint32_t>((idle_limit_bytes + class_bytes(i) - 1) / class_bytes(i));
  return most;
}();

}  // namespace

void* allocate(std::size_t size) {
  if constexpr (pooling) {
    if (size <= largest_pooled) {
      const std::size_t index = class_of(size);
      size_class& list = pool.lists[index];
      if (list.first != nullptr) {
        idle_block* const block = list.first;
        list.first = block->next;
        --list.count;
        ++pool.counters.hits;
        ++pool.counters.live;
        return block;
      }
      size = class_bytes(index);
    }
  }
  void* const block = ::operator new(size);
  ++pool.counters.misses;
  ++pool.counters.live;
  return block;
}

void deallocate(void* block, std::size_t size) noexcept {
  --pool.counters.live;
  if constexpr (pooling) {
    if (size <= largest_pooled && pool.at != thread_pool::stage::closed) {
      const std::size_t index = class_of(size);
      size_class& list = pool.lists[index];
      if (list.count < most_idle[index]) {
        if (pool.at == thread_pool::stage::fresh) at_thread_end.touch();
        list.first = ::new (block) idle_block{list.first};
        ++list.count;
        return;
      }
    }
  }
  ::operator delete(block);
}

void trim() noexcept {
  for (size_class& list : pool.lists) {
    while (list.first != nullptr) {
      idle_block* const block = list.first;
      list.first = block->next;
      ::operator delete(block);
    }
    list.count = 0;
  }
}

statistics thread_statistics() noexcept {
  return pool.counters;
}

}  // namespace scoll::frame_pool
