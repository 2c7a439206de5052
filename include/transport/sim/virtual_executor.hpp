#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>

#include "transport/sim/sim_world.hpp"

namespace scoll::testing {
namespace detail {

/// This is a base class so that the world exists before the executor that lives in it.
struct world_of_one {
  sim_world own_world{1, 1, false};
};

}  // namespace detail

/// An executor in virtual time. Time stands still while anything is ready, then jumps to the next timer. The
/// executor is the only host of its own world, and drives that world. Equal inputs give equal runs. `post` is
/// thread-safe so that tests can use a blocking pool, but a run that depends on other threads is not
/// deterministic.
class virtual_executor final : private detail::world_of_one, public sim_executor {
 public:
  explicit virtual_executor(time_point start = time_point{nanoseconds{1'000'000'000}})
      : sim_executor(own_world, 0, {.offset = start.time_since_epoch()}) {}
  ~virtual_executor() override = default;

  void post(posted_node& node) noexcept override;
  /// Calls `when_giving_way`, if it is set.
  void give_way() noexcept override {
    if (when_giving_way) when_giving_way();
  }
  std::function<void()> when_giving_way;

  /// Runs everything that is ready at the present time. Returns how many nodes and timers ran.
  std::size_t run_now() noexcept;

  /// Runs until nothing is ready and no timer is armed, or until `limit` nodes have run. Returns how many
  /// ran.
  std::size_t run_until_idle(std::size_t limit = SIZE_MAX) noexcept;

  /// Runs everything up to and including `until`, and leaves the clock there.
  std::size_t run_until(time_point until) noexcept;
  std::size_t run_for(nanoseconds d) noexcept { return run_until(now() + d); }

  /// Blocks this thread until another thread has posted, at most for `real_time`, for tests of blocking
  /// pools. It does not run the posted work. True if there is any.
  bool wait_for_post(nanoseconds real_time);

  /// Runs what is ready now, until nothing is left or `done` is set. Then it advances to the time of the next
  /// timer if there is one. False if `done` is not set and nothing is left to come.
  bool run_step(const bool& done) noexcept;

  /// Runs one turn for callers that must wait for other threads: what is ready, else the next timer, else it
  /// waits at most `longest_real_wait` for a post. Returns true if anything ran.
  bool run_once(nanoseconds longest_real_wait);

  bool idle() const noexcept { return !has_ready() && next_event() == sim_world::no_time; }

 private:
  // These are for hosts that a world drives.
  using sim_executor::detach;
  using sim_executor::occupy;
  using sim_executor::run_isolated;
  using sim_executor::stall_until;

  std::size_t run_present(std::size_t limit) noexcept;
  void take_posted() noexcept;
  nanoseconds next_event() const noexcept;
  bool advance() noexcept;

  std::mutex inbox_mutex_;
  std::condition_variable inbox_signal_;
  posted_list inbox_;
};

}  // namespace scoll::testing
