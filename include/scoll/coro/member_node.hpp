#pragma once

#include "scoll/coro/ready_node.hpp"

namespace scoll {

/// A ready node that calls a member function of its owner: a step of its own for what must not happen inside
/// the call that asks for it. A member of the owner; the function must not throw.
template <class T>
class member_node final : public ready_node {
 public:
  using action = void (T::*)();

  member_node(T& owner, action run) noexcept : ready_node(&invoke), owner_(owner), run_(run) {}
  ~member_node() = default;

 private:
  static void invoke(ready_node& node) noexcept {
    auto& self = static_cast<member_node&>(node);
    (self.owner_.*self.run_)();
  }

  T& owner_;
  action run_;
};

}  // namespace scoll
