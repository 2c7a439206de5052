#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "tools/gossipctl/cluster/config.hpp"
#include "tools/gossipctl/cluster/place.hpp"
#include "transport/io/control_client.hpp"

namespace gossipctl {

using json = nlohmann::ordered_json;

/// Reads the configuration that the arguments name. Throws `usage_error`.
config need_config(const arguments& args);

/// Returns the participant of --self, or all participants of this host. Throws `usage_error` if this host has
/// none.
std::vector<participant_index> own_participants(const config& c, const arguments& args);
/// Returns the one participant that is meant. Throws `usage_error` if there are several.
participant_index own_participant(const config& c, const arguments& args);

/// Connects to the daemon of --self, or to the first daemon of this host that answers.
std::optional<scoll::transport::control_client> connect(const config& c, const arguments& args);

/// Asks one question. Returns nothing if no answer came in time.
std::optional<json> ask(scoll::transport::control_client& daemon, const json& command, double seconds);

/// Asks, and prints an error if there is one. The result is a value, or the exit status to end with.
struct answer {
  std::optional<json> value;
  int code = all_well;
};
answer ask_daemon(const arguments& args, const json& command);

}  // namespace gossipctl
