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

/// The exit status of shardctl.
enum exit_code : int {
  all_executed = 0,
  partial_answer = 1,  ///< the answer names the members whose part is missing
  bad_usage = 2,
  no_answer = 3,
};

/// How lines of progress are printed. They always go to stderr, because stdout is for the answer.
enum class progress_style {
  none,
  one_line,  ///< for a terminal: a single line that is overwritten
  lines,     ///< a new line each time
};

/// Connects to the control socket of a server: the given one, or else the first in the file that listens.
std::optional<control_client> connect(const cluster_config& config, std::optional<scoll::node_id> node);

/// Sends a command and returns its answer, which is the last line. Earlier lines are shown as progress,
/// except {"bytes": ...}, which goes to `on_bytes`. Returns nothing if the server closes the connection, or
/// sends nothing for `silence`.
std::optional<nlohmann::json> converse(control_client& server, const nlohmann::json& command,
                                       progress_style style, std::chrono::milliseconds silence,
                                       const std::function<void(const std::string& base64)>& on_bytes = {});
/// Does the second half of `converse`, after the command has been sent.
std::optional<nlohmann::json> await_answer(
    control_client& server, progress_style style, std::chrono::milliseconds silence,
    const std::function<void(const std::string& base64)>& on_bytes = {});

exit_code exit_code_of(const nlohmann::json& answer);

}  // namespace shard
