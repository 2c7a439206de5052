#pragma once

#include <vector>

#include "answer.hpp"
#include "scoll/coro/deadline.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/coro/time.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Asks each of `targets` on its own, through a group of two. Returns the targets that did not answer within
/// `limit` and before `until`, in the order of `targets`.
scoll::task<std::vector<absent_node>> roll_call(scoll::node& self, const std::vector<scoll::target>& targets,
                                                scoll::nanoseconds limit, scoll::deadline until = {});

}  // namespace shard
