#pragma once

#include "answer_json.hpp"
#include "command.hpp"
#include "scoll/coro/stop.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Serves the command "pool": asks the servers of one pool how much they store. `self` must be one of them.
scoll::task<json> ask_pool(scoll::node& self, const command& c, scoll::stop_token stop);

}  // namespace shard
