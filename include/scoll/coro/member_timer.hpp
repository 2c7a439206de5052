#pragma once

#include "scoll/coro/member_node.hpp"
#include "scoll/coro/timer.hpp"

namespace scoll {

/// A timer that calls a member function of its owner: `member_timer<&owner::too_late>`. The timer is a member
/// of the owner, which must disarm it before it is destroyed. The function must not throw.
template <auto Action>
class member_timer final : public timer_node {
 public:
  using owner = detail::owner_of<Action>;

  explicit member_timer(owner& self) noexcept : timer_node(&invoke), self_(self) {}
  ~member_timer() = default;

 private:
  static void invoke(timer_node& node) noexcept { (static_cast<member_timer&>(node).self_.*Action)(); }

  owner& self_;
};

}  // namespace scoll
