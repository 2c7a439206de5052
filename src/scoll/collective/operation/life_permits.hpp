#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "scoll/collective/life_tag.hpp"

namespace scoll::detail {

/// Which lives of its members the root of a broadcast that is repaired lets execute, where a new life of a member can
/// enter the group. Each request of each round names them: a request of the first round, too, may be on its way for so
/// long that a further round overtakes it.
///
/// For each member, the requests that may still make it execute are always one of these, and either executes once:
/// - requests that all name the same life, whose replay window admits one of them;
/// - a single request that names no life. It reaches one life at most, because a session gives none to two.
///
/// So another permit is given only to a member that is *untouched*: each request for it has ended, and nothing was done.
class life_permits {
 public:
  /// Gives the permits of the first round: by relative rank, the tag of the life that the root knows, or `for_any_life`.
  void begin(std::vector<life_tag> known) noexcept { given_ = std::move(known); }
  /// True if new lives can enter the group.
  bool needed() const noexcept { return !given_.empty(); }

  /// The permit that was given last to the member with this relative rank.
  life_tag of(std::uint32_t relative) const noexcept { return given_[relative]; }
  /// Gives the permit of a further round. `known` is as in `begin`, now.
  life_tag give(std::uint32_t relative, bool untouched, life_tag known) noexcept;

 private:
  std::vector<life_tag> given_;
};

}  // namespace scoll::detail
