#include "transport/sim/virtual_executor.hpp"

#include <utility>

namespace scoll {

void virtual_executor::post(posted_node& node) noexcept {
  const std::scoped_lock lock(posted_mutex_);
  node.next = nullptr;
  (posted_tail_ ? posted_tail_->next : posted_head_) = &node;
  posted_tail_ = &node;
  posted_signal_.notify_all();
}

bool virtual_executor::wait_for_post(nanoseconds real_time) {
  std::unique_lock lock(posted_mutex_);
  return posted_signal_.wait_for(lock, real_time, [this] { return posted_head_ != nullptr; });
}

std::size_t virtual_executor::run_posted() noexcept {
  posted_node* node = nullptr;
  {
    const std::scoped_lock lock(posted_mutex_);
    node = std::exchange(posted_head_, nullptr);
    posted_tail_ = nullptr;
  }
  const turn as_current(*this);
  std::size_t ran = 0;
  while (node != nullptr) {
    posted_node& first = *node;
    node = first.next;
    first.run();
    ++ran;
  }
  return ran;
}

std::size_t virtual_executor::run_present(std::size_t limit) noexcept {
  std::size_t ran = 0;
  while (ran < limit) {
    const std::size_t before = ran;
    ran += run_posted();
    ran += run_ready(limit > ran ? limit - ran : 0);
    if (ran == before) break;
  }
  return ran;
}

std::size_t virtual_executor::run_now() noexcept {
  return run_present(SIZE_MAX);
}

std::size_t virtual_executor::run_until_idle(std::size_t limit) noexcept {
  std::size_t ran = 0;
  while (true) {
    ran += run_present(limit - ran);
    if (ran >= limit || next_timer() == never) return ran;
    if (!has_ready() && next_timer() > now_) now_ = next_timer();
  }
}

bool virtual_executor::run_step(const bool& done) noexcept {
  std::size_t ran = 1;
  while (!done && ran > 0) ran = run_present(1);
  if (done) return true;
  if (next_timer() == never) return false;
  if (next_timer() > now_) now_ = next_timer();
  return true;
}

bool virtual_executor::run_once(nanoseconds longest_real_wait) {
  if (run_now() > 0) return true;
  if (next_timer() != never) {
    if (next_timer() > now_) now_ = next_timer();
  } else if (!wait_for_post(longest_real_wait)) {
    return false;
  }
  return run_now() > 0;
}

std::size_t virtual_executor::run_until(time_point until) noexcept {
  std::size_t ran = run_now();
  while (next_timer() <= until && next_timer() != never) {
    if (next_timer() > now_) now_ = next_timer();
    ran += run_now();
  }
  if (until > now_) now_ = until;
  return ran;
}

}  // namespace scoll
