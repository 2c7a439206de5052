#pragma once

#include <memory>
#include <utility>

#include "scoll/collective/membership.hpp"
#include "scoll/collective/rank_set.hpp"
#include "scoll/collective/service.hpp"
#include "scoll/detail/any_group.hpp"
#include "scoll/ids.hpp"

namespace scoll {

/// A group, or some members of one, as its root or any member holds it; `bcast` is called on it. It is cheap
/// to copy and must not outlive its node. The group itself lives until `node::destroy`. A default-constructed
/// group is empty: it has no members, its subsets are empty too, and a broadcast to it is refused.
template <class S>
class group : public detail::any_group {
 public:
  group() = default;
  explicit group(detail::any_group g) noexcept : any_group(std::move(g)) {}

  /// Narrows the members addressed to those in `ranks` (`only`) or to those not in `ranks` (`except`). The
  /// first broadcast reports a subset's errors: `invalid_argument` (no member is left, or ranks lie beyond
  /// the group), `too_large` (too many separate ranges for one message).
  group only(const rank_set& ranks) const { return group(narrowed_to(ranks)); }
  group except(const rank_set& ranks) const { return group(narrowed_by(ranks)); }
  /// Narrows the members addressed to those not known to be dead at this moment. Members compare this with
  /// their own view: see `outcome::dissenting` and `bcast_options::same_view`.
  group alive() const { return group(narrowed_to_living()); }
};

}  // namespace scoll
