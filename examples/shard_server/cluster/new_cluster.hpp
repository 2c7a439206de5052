#pragma once

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

namespace shard {

/// A cluster on this machine.
struct new_cluster {
  unsigned nodes = 16;
  std::string tree = "knomial:4";
  unsigned pools = 0;                           ///< to which the servers are dealt in turn
  std::string transport = "tcp";                ///< or "verbs", or "tcp+verbs": bulk data alone by RDMA
  std::vector<std::string> hosts{"127.0.0.1"};  ///< addresses of this machine, which the servers take in turn
};

/// Writes FOLDER/cluster.toml for a cluster on this machine, with ports that are free right now and control
/// sockets in the folder. Leaves an existing file untouched. Returns the path of the file, or a description of
/// the error.
std::variant<std::filesystem::path, std::string> make_local_cluster(const std::filesystem::path& folder,
                                                                    const new_cluster& wanted);

}  // namespace shard
