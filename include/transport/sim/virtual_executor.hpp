#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include "scoll/coro/executor.hpp"

namespace scoll {

/// An executor in virtual time: time stands still while anything is ready, then jumps to the next
/// timer. Equal inputs give equal runs. `post` is thread-safe so that a blocking pool can be used in tests,
/// but a run that depends on other threads is not deterministic.
class virtual_executor final : public executor {
 public:
  explicit virtual_executor(time_point start = time_point{nanoseconds{1'000'000'000}}) noexcept
      : now_(start) {}
  ~virtual_executor() override = default;

  time_point now() const noexcept override { return now_; }
  void post(posted_node& node) noexcept override;

  /// Runs all that is ready at the present time. Returns how many nodes and timers ran.
  std::size_t run_now() noexcept;

  /// Runs until nothing is ready and no timer is armed, or `limit` nodes ran. Returns how many ran.
  std::size_t run_until_idle(std::size_t limit = SIZE_MAX) noexcept;

  /// Runs everything up to and including `until`, and leaves the clock there.
  std::size_t run_until(time_point until) noexcept;
  std::size_t run_for(nanoseconds d) noexcept { return run_until(now_ + d); }

  /// Blocks this thread until another one has posted, at most `real_time`; for tests of blocking pools. The
  /// posted work has not run yet. True if there is any.
  bool wait_for_post(nanoseconds real_time);

  /// Runs what is ready now until that is nothing or `done` is set; then, if something is to come, goes on to
  /// the time of the next timer. False if `done` is not set and nothing is to come.
  bool run_step(const bool& done) noexcept;

  /// One turn for those who must wait for other threads: what is ready, else the next timer, else at most
  /// `longest_real_wait` for a post. Returns whether anything ran.
  bool run_once(nanoseconds longest_real_wait);

  bool idle() const noexcept { return !has_ready() && next_timer() == never; }

 private:
  std::size_t run_posted() noexcept;
  std::size_t run_present(std::size_t limit) noexcept;

  time_point now_;
  std::mutex posted_mutex_;
  std::condition_variable posted_signal_;
  posted_node* posted_head_ = nullptr;
  posted_node* posted_tail_ = nullptr;
};

}  // namespace scoll
