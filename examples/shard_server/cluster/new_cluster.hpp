#pragma once

#include <filesystem>
#include <string>
#include <variant>

namespace shard {

/// Writes FOLDER/cluster.toml for a cluster on this machine, with ports of the loopback interface that are
/// free right now and control sockets in the folder. The servers are dealt to `pools` pools in turn. Leaves
/// an existing file untouched. Returns the path of the file, or a description of the error.
std::variant<std::filesystem::path, std::string> make_local_cluster(const std::filesystem::path& folder,
                                                                    unsigned nodes, const std::string& tree,
                                                                    unsigned pools = 0);

}  // namespace shard
