#include "scoll/coro/executor.hpp"

namespace scoll {
namespace {

constinit thread_local executor* current_executor = nullptr;

}  // namespace

executor& executor::current() noexcept {
  SCOLL_ASSERT(current_executor != nullptr, "no executor runs on this thread");
  return *current_executor;
}

executor* executor::current_or_null() noexcept {
  return current_executor;
}

executor::turn::turn(executor& self) noexcept : previous_(current_executor) {
  current_executor = &self;
  self.thread_.store(__builtin_thread_pointer(), std::memory_order_relaxed);
}
executor::turn::~turn() {
  current_executor = previous_;
}

std::size_t executor::run_ready(std::size_t limit) noexcept {
  const turn as_current(*this);
  const time_point at = now();
  std::size_t ran = 0;
  // All due timers go first, so that coroutines which keep each other ready cannot hold them back.
  for (std::size_t before = SIZE_MAX; ran != before && ran < limit;) {
    before = ran;
    while (ran < limit && timers_.fire_one(at)) ++ran;
    for (; ran < limit && !ready_.empty(); ++ran) ready_.run_front();
    if (ran == before && !late_.empty()) {
      late_.run_front();
      ++ran;
    }
  }
  return ran;
}

}  // namespace scoll
