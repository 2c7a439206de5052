#pragma once

#include <utility>

#include "answer.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Broadcasts a request to a group and gives the answer with its account. A request that has a member `group`
/// gets the group's id in it.
template <scoll::collective_service S>
scoll::task<answer<typename S::reply>> ask_group(scoll::group<S> group, typename S::request request,
                                                 scoll::bcast_options options) {
  if constexpr (requires { request.group = group.id(); }) request.group = group.id();
  auto result = co_await scoll::bcast(group, request, options);
  answer<typename S::reply> done;
  done.account.ended = result.status();
  done.account.outcome = result.outcome();
  done.account.members = group.shared_members();
  done.account.trace = result.trace();
  if (result.has_value()) done.value = std::move(*result);
  co_return done;
}

}  // namespace shard
