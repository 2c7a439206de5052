#pragma once

#include <memory>
#include <vector>

#include "scoll/coro/scope.hpp"
#include "scoll/coro/sync_wait.hpp"
#include "scoll/node.hpp"
#include "transport/sim/virtual_executor.hpp"

namespace scoll::sim {

/// Shuts a node down. Who is cut off cannot hand over what it holds, so the outcome does not matter.
inline task<void> shut_down(node& n, nanoseconds grace) {
  const status ended = co_await n.shutdown(grace);
  static_cast<void>(ended);
}

inline task<void> joined(scope& work) {
  co_await work.join();
}

/// Shuts all nodes of a run down at once, waits for what else runs in the scope, and destroys the nodes.
inline void end_nodes(testing::virtual_executor& ex, scope& work, std::vector<std::unique_ptr<node>>& nodes,
                      nanoseconds grace) {
  for (auto& each : nodes) work.spawn(shut_down(*each, grace));
  sync_wait(ex, joined(work));
  nodes.clear();
  ex.run_until_idle();
}

}  // namespace scoll::sim
