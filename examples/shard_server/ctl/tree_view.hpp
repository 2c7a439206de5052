#pragma once

#include <ostream>

#include "../cluster/cluster_file.hpp"
#include "scoll/ids.hpp"

namespace shard {

enum class tree_form {
  text,
  dot,   ///< for Graphviz
  list,  ///< for scripts: "5 parent 1 subtree 5 6 7 8", one line per server
  json,
};

/// Shows the tree that a broadcast from server `root` uses. It asks no server: the tree follows from the
/// cluster file.
void show_tree(std::ostream& out, const cluster_config& config, std::uint32_t root_rank, tree_form form);

}  // namespace shard
