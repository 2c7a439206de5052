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

/// The configuration that the arguments name. Throws `usage_error`.
config need_config(const arguments& args);

/// Who is meant by --self, or all of this host. Throws `usage_error` if nobody is of this host.
std::vector<participant_index> own_participants(const config& c, const arguments& args);
/// The one that is meant; throws `usage_error` if it could be several.
participant_index own_participant(const config& c, const arguments& args);

/// The daemon of --self, or the first of this host that answers.
std::optional<scoll::transport::control_client> connect(const config& c, const arguments& args);

/// Asks one question. Nothing if no answer came in time.
std::optional<json> ask(scoll::transport::control_client& daemon, const json& command, double seconds);

/// Asks, and shows what is wrong: a value, or the exit status to end with.
struct answer {
  std::optional<json> value;
  int code = all_well;
};
answer ask_daemon(const arguments& args, const json& command);

}  // namespace gossipctl
