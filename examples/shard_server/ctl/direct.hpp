#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "../cluster/cluster_file.hpp"

/// Puts and gets without the control socket of a server: shardctl is itself a client of the cluster, and calls
/// the server that owns the object. So it can run on any host that reaches the servers.
namespace shard {

/// Answers have the form of those of a server. `file` may be "-" for the standard streams. `client` is the id of this
/// client; 0: one that is drawn.
nlohmann::json put_directly(const cluster_config& config, const std::string& file, const std::string& name,
                            scoll::nanoseconds limit, scoll::node_id client);
nlohmann::json get_directly(const cluster_config& config, const std::string& name, const std::string& file,
                            scoll::nanoseconds limit, scoll::node_id client);

}  // namespace shard
