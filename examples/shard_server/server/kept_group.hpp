#pragma once

#include <optional>
#include <vector>

#include "scoll/coro/result.hpp"
#include "scoll/coro/scope.hpp"
#include "scoll/coro/semaphore.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// The group over all servers that is used to ask one service. It is created when first needed, then kept,
/// and given up when a member no longer knows it because that member was restarted.
template <scoll::collective_service S>
class kept_group {
 public:
  scoll::task<scoll::result<scoll::group<S>>> get(scoll::node& self,
                                                  const std::vector<scoll::target>& targets,
                                                  scoll::group_options options) {
    co_await creating_.acquire();  // callers that arrive meanwhile share the result
    std::optional<scoll::error> failed;
    if (!group_.valid()) {
      auto created = co_await self.create_group<S>(targets, options);
      if (created) {
        group_ = *created;
      } else {
        failed = created.error();
      }
    }
    creating_.release();
    if (failed) co_return *failed;
    co_return group_;
  }

  /// The result is not valid if no group is held.
  const scoll::group<S>& held() const noexcept { return group_; }

  /// Gives up `revoked` at once; its members are told in the background, because one of them may be silent.
  void let_go(scoll::node& self, const scoll::group<S>& revoked) {
    if (group_.valid() && group_.id() == revoked.id()) group_ = {};
    self.background().spawn(drop(self, revoked));
  }

  /// Gives up `stale`, unless that has already happened. The node tells members that are missing when they
  /// are back.
  scoll::task<void> drop(scoll::node& self, scoll::group<S> stale) {
    if (group_.valid() && group_.id() == stale.id()) group_ = {};
    const scoll::status told = co_await self.destroy(stale);
    told.ignore();
  }

 private:
  scoll::semaphore creating_{1};
  scoll::group<S> group_;
};

}  // namespace shard
