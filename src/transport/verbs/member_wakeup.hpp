#pragma once

#include "scoll/coro/member_node.hpp"
#include "transport/verbs/verbs_api.hpp"

namespace scoll::transport::verbs {

/// A wakeup that calls a member function of its owner: `member_wakeup<&owner::step>`.
template <auto Action>
class member_wakeup final : public wakeup {
 public:
  using owner = scoll::detail::owner_of<Action>;

  explicit member_wakeup(owner& self) noexcept : self_(self) {}
  ~member_wakeup() = default;

  void on_wake() noexcept override { (self_.*Action)(); }

 private:
  owner& self_;
};

}  // namespace scoll::transport::verbs
