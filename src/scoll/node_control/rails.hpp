#pragma once

#include <string>
#include <vector>

#include "scoll/node.hpp"
#include "scoll/node_control/rows.hpp"

namespace scoll::detail {

json rail_json(const rail_snapshot& r);
json path_json(const path_snapshot& p);

/// Says in sentences why the messages of a node to a peer take the path that they take. `paths` are the
/// paths to the peer, best first, at least one.
std::vector<std::string> explain_paths(node_id self, node_id peer, const std::vector<path_snapshot>& paths);

}  // namespace scoll::detail
