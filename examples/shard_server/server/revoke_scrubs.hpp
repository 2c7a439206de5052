#pragma once

#include "../services/progress.hpp"
#include "answer_json.hpp"
#include "command.hpp"
#include "scoll/coro/task.hpp"
#include "scoll/node.hpp"

namespace shard {

/// Serves the command "revoke": revokes the groups of all scrubs that run on this server, whichever server
/// has begun them. They end everywhere; scrubs that begin later use other groups.
scoll::task<json> revoke_scrubs(scoll::node& self, const progress_board& board, const command& c);

}  // namespace shard
