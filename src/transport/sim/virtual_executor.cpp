#include "transport/sim/virtual_executor.hpp"

#include <algorithm>

namespace scoll::testing {

void virtual_executor::post(posted_node& node) noexcept {
  const std::scoped_lock lock(inbox_mutex_);
  inbox_.push(node);
  inbox_signal_.notify_all();
}

bool virtual_executor::wait_for_post(nanoseconds real_time) {
  std::unique_lock lock(inbox_mutex_);
  return inbox_signal_.wait_for(lock, real_time, [this] { return !inbox_.empty(); });
}

void virtual_executor::take_posted() noexcept {
  const std::scoped_lock lock(inbox_mutex_);
  posted_.append(inbox_);
}

/// The time of the next event, by the world's clock.
nanoseconds virtual_executor::next_event() const noexcept {
  return std::min(global_time(next_timer()), world().timers_.earliest().time_since_epoch());
}

/// Advances to the next event. False if there is none.
bool virtual_executor::advance() noexcept {
  const nanoseconds at = next_event();
  if (at == sim_world::no_time) return false;
  world().now_ = std::max(world().now_, at);
  return true;
}

std::size_t virtual_executor::run_present(std::size_t limit) noexcept {
  std::size_t ran = 0;
  while (ran < limit) {
    const std::size_t before = ran;
    while (ran < limit && world().timers_.fire_one(time_point(world().now_))) ++ran;
    take_posted();
    ran += run_turn(limit - ran);
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
    if (ran >= limit) return ran;
    if (!has_ready() && !advance()) return ran;
  }
}

bool virtual_executor::run_step(const bool& done) noexcept {
  std::size_t ran = 1;
  while (!done && ran > 0) ran = run_present(1);
  return done || advance();
}

bool virtual_executor::run_once(nanoseconds longest_real_wait) {
  if (run_now() > 0) return true;
  if (!advance() && !wait_for_post(longest_real_wait)) return false;
  return run_now() > 0;
}

std::size_t virtual_executor::run_until(time_point until) noexcept {
  const nanoseconds end = global_time(until);
  std::size_t ran = run_now();
  while (next_event() <= end && advance()) ran += run_now();
  world().now_ = std::max(world().now_, end);
  return ran;
}

}  // namespace scoll::testing
