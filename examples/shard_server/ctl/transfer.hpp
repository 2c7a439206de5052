#pragma once

#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "transport/io/control_client.hpp"

namespace shard {

using scoll::transport::control_client;

/// Both functions move an object through a control socket and return the server's answer. They return nothing
/// if the server closed the connection or if the local file failed; the second is then reported on stderr.
/// "-" and "" mean stdin and stdout.
std::optional<nlohmann::json> put_file(control_client& server, const nlohmann::json& command,
                                       const std::string& file, std::chrono::milliseconds silence);

/// A named file appears only when it is complete.
std::optional<nlohmann::json> get_file(control_client& server, const nlohmann::json& command,
                                       const std::string& file, std::chrono::milliseconds silence);

}  // namespace shard
