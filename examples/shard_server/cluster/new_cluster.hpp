#pragma once

#include <filesystem>
#include <string>
#include <variant>

namespace shard {

/// Writes FOLDER/cluster.toml for a cluster on this machine: ports of the loopback interface that are free
/// right now, control sockets in the folder. An existing file is not touched. Gives the file, or what went
/// wrong.
std::variant<std::filesystem::path, std::string> make_local_cluster(const std::filesystem::path& folder,
                                                                    unsigned nodes, const std::string& tree);

}  // namespace shard
