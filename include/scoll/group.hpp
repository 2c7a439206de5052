#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "detail/engine.hpp"
#include "ids.hpp"
#include "membership.hpp"
#include "service.hpp"

namespace scoll {

/// A group as its root, or any member, holds it: what `bcast` is called on. A cheap copy; it must not outlive
/// its node. The group itself lives until `node::destroy`.
template <class S>
class group {
 public:
  group() = default;
  group(detail::engine& owner, std::shared_ptr<detail::group_state> state) noexcept
      : engine_(&owner), state_(std::move(state)) {}

  bool valid() const noexcept { return state_ != nullptr; }
  const group_id& id() const noexcept { return state_->id; }
  const membership& members() const noexcept { return *state_->members; }
  membership_ptr shared_members() const noexcept { return state_->members; }
  /// The rank of this node.
  std::uint32_t rank() const noexcept { return state_->self_rank; }
  const tree_spec& tree() const noexcept { return state_->tree; }

  detail::engine& get_engine() const noexcept { return *engine_; }
  const std::shared_ptr<detail::group_state>& state() const noexcept { return state_; }

 private:
  detail::engine* engine_ = nullptr;
  std::shared_ptr<detail::group_state> state_;
};

}  // namespace scoll
