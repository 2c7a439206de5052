#pragma once

#include <type_traits>

#include "scoll/coro/ready_node.hpp"

namespace scoll {
namespace detail {

template <class T>
std::type_identity<T> class_of_member(void (T::*)());

/// The class `T` of a member function `&T::f`. `T` may be incomplete.
template <auto Action>
using owner_of = typename decltype(class_of_member(Action))::type;

}  // namespace detail

/// A ready node that calls a member function of its owner: `member_node<&owner::step>`. It defers to a step
/// of its own what must not happen inside the call that asks for it. The node is a member of the owner. The
/// function must not throw.
template <auto Action>
class member_node final : public ready_node {
 public:
  using owner = detail::owner_of<Action>;

  explicit member_node(owner& self) noexcept : ready_node(&invoke), self_(self) {}
  ~member_node() = default;

 private:
  static void invoke(ready_node& node) noexcept { (static_cast<member_node&>(node).self_.*Action)(); }

  owner& self_;
};

}  // namespace scoll
