#pragma once

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "../cluster/cluster_file.hpp"
#include "transport/io/control_client.hpp"

namespace shard {

using scoll::transport::control_client;

/// What the exit status of shardctl tells.
enum exit_code : int {
  all_executed = 0,
  partial_answer = 1,  ///< the answer says whose part is missing
  bad_usage = 2,
  no_answer = 3,
};

/// Where lines of progress go: to stderr always, because stdout is the answer's.
enum class progress_style {
  none,
  one_line,  ///< on a terminal: one that is overwritten
  lines,     ///< a new one each time
};

/// Connects to a server's control socket, the given one or else the first in the file that listens.
std::optional<control_client> connect(const cluster_config& config, std::optional<scoll::node_id> node);

/// Sends a command and gives its answer, the last line; those before it are shown as progress, except
/// {"bytes": ...}, which goes to `on_bytes`. Nothing if the server goes, or says nothing for `silence`.
std::optional<nlohmann::json> converse(control_client& server, const nlohmann::json& command,
                                       progress_style style, std::chrono::milliseconds silence,
                                       const std::function<void(const std::string& base64)>& on_bytes = {});
/// The second half of it, when the command has been sent.
std::optional<nlohmann::json> await_answer(
    control_client& server, progress_style style, std::chrono::milliseconds silence,
    const std::function<void(const std::string& base64)>& on_bytes = {});

exit_code exit_code_of(const nlohmann::json& answer);

}  // namespace shard
