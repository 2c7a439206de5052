#pragma once

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/timer.hpp"
#include "transport/sim/sim_world.hpp"

namespace scoll::testing {

/// Calls a member function of its owner at a point of the world's time, or as soon after it as the host has time,
/// as a step of the host: `host_call<&owner::step>`.
template <auto Action>
class host_call final : private timer_node, private sim_waiter {
 public:
  using owner = scoll::detail::owner_of<Action>;

  host_call(owner& self, sim_executor& home) noexcept
      : timer_node(&fire), sim_waiter(&run), self_(self), home_(home) {}
  ~host_call() { cancel(); }

  bool pending() const noexcept { return armed() || linked(); }
  void at(nanoseconds when) noexcept {
    if (!pending()) home_.world().arm(*this, when);
  }
  void cancel() noexcept {
    if (armed()) home_.world().disarm(*this);
    unlink();
  }

 private:
  static void fire(timer_node& node) noexcept { static_cast<host_call&>(node).attempt(); }
  static void run(sim_waiter& waiter) noexcept { static_cast<host_call&>(waiter).attempt(); }
  void attempt() noexcept {
    if (home_.available_at() > home_.world().now()) return home_.when_available(*this);
    home_.enter([this]() noexcept { (self_.*Action)(); });
  }

  owner& self_;
  sim_executor& home_;
};

}  // namespace scoll::testing
