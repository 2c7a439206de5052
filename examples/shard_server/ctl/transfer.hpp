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

/// Moves an object through a control socket. Both give the server's answer; nothing if the server went, or if
/// the local file failed, which is then said on stderr. "-" and "" are stdin and stdout.
std::optional<nlohmann::json> put_file(control_client& server, const nlohmann::json& command,
                                       const std::string& file, std::chrono::milliseconds silence);

/// A named file appears when it is whole.
std::optional<nlohmann::json> get_file(control_client& server, const nlohmann::json& command,
                                       const std::string& file, std::chrono::milliseconds silence);

}  // namespace shard
