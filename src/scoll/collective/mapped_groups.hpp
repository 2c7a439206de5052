#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "scoll/collective/group_table.hpp"
#include "scoll/collective/kept_windows.hpp"
#include "scoll/collective/limits.hpp"
#include "scoll/coro/result.hpp"
#include "scoll/tree/spec.hpp"

namespace scoll::detail {

/// The out-of-band groups in a group table whose members a service's `members` hook has named. They are a
/// cache: a group that nothing uses is dropped when another one needs its place, and asked for again.
class mapped_groups {
 public:
  mapped_groups(group_table& table, kept_windows& windows, std::size_t most = max_mapped_groups) noexcept
      : table_(table), windows_(windows), most_(most) {}

  /// Holds the group that has these members under the service's own id. A group that had others under it is
  /// dropped; operations that use it go on. Errors: `not_member`; `already_exists` if the group under that id
  /// was adopted; `busy` if all places are taken by groups in use.
  result<std::shared_ptr<group_state>> hold(const membership_ptr& members, service_id service,
                                            std::uint64_t id, const tree_spec& tree);
  /// Drops the group here.
  void drop(group_state& group);
  /// Notes that the group is used now.
  void use(group_state& group) noexcept { group.last_use = ++uses_; }
  std::size_t size() const;

 private:
  bool make_room();

  group_table& table_;
  kept_windows& windows_;
  std::size_t most_;
  std::uint64_t uses_ = 0;
};

}  // namespace scoll::detail
