#pragma once

#include <cstdint>
#include <memory>
#include <utility>

#include "detail/engine.hpp"
#include "ids.hpp"
#include "membership.hpp"
#include "rank_set.hpp"
#include "service.hpp"

namespace scoll {

/// A group, or some members of one, as its root or any member holds it: what `bcast` is called on. A cheap
/// copy; it must not outlive its node. The group itself lives until `node::destroy`.
template <class S>
class group {
 public:
  group() = default;
  group(detail::engine& owner, std::shared_ptr<detail::group_state> state) noexcept
      : engine_(&owner), to_{std::move(state)} {}

  bool valid() const noexcept { return to_.group != nullptr; }
  const group_id& id() const noexcept { return to_.group->id; }
  const membership& members() const noexcept { return *to_.group->members; }
  membership_ptr shared_members() const noexcept { return to_.group->members; }
  /// The rank of this node.
  std::uint32_t rank() const noexcept { return to_.group->self_rank; }
  const tree_spec& tree() const noexcept { return to_.group->tree; }

  /// Those whom a broadcast to it is for (`C6`): ranks keep their meaning, the tree spans these alone, and
  /// the outcome calls all others `excluded`.
  rank_set addressed() const {
    return to_.some != nullptr ? to_.some->ranks() : rank_set::all(members().size());
  }
  /// Some of those addressed. The subset's errors come with the first broadcast: `invalid_argument` (nobody
  /// is left, or ranks beyond the group), `too_large` (too many separate ranges for one message).
  group only(const rank_set& ranks) const {
    rank_set beyond = ranks - rank_set::all(members().size());
    return narrowed(beyond.empty() ? addressed() & ranks : std::move(beyond), false);
  }
  group except(const rank_set& ranks) const { return narrowed(addressed() - ranks, false); }
  /// Those who are not known to be dead at this moment. Members compare: see `outcome::dissenting` and
  /// `bcast_options::same_view`.
  group alive() const {
    return narrowed(engine_->living(*to_.group, addressed()), to_.some == nullptr || to_.living);
  }

  detail::engine& get_engine() const noexcept { return *engine_; }
  const std::shared_ptr<detail::group_state>& state() const noexcept { return to_.group; }
  const detail::addressees& to() const noexcept { return to_; }

 private:
  group narrowed(rank_set left, bool living) const {
    group g = *this;
    g.to_.living = living;
    auto made = detail::subset::make(std::move(left), members().size());
    if (made) {
      g.to_.some = std::move(*made);
    } else if (!g.to_.invalid) {
      g.to_.invalid = made.error();
    }
    return g;
  }

  detail::engine* engine_ = nullptr;
  detail::addressees to_;
};

}  // namespace scoll
