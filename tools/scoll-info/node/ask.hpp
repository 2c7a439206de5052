#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <variant>

namespace info {

using json = nlohmann::ordered_json;

/// The reason why a node has not answered, for a person.
struct complaint {
  std::string text;
  bool refused = false;  ///< the node has refused the command or its argument
};

/// The name of the list in the answer to a command; empty if the answer is no list.
std::string list_of(const std::string& command);

/// Asks the node whose control socket is at `socket`, and waits at most a few seconds for each portion of the
/// answer. Portions are put together.
std::variant<json, complaint> ask(const std::string& socket, const std::string& command);

/// Asks for the metrics, which are text.
std::variant<std::string, complaint> ask_metrics(const std::string& socket);

/// Calls `tell` for every kept event and for every further one, until the node ends.
std::variant<std::monostate, complaint> follow_events(const std::string& socket,
                                                      const std::function<void(const json&)>& tell);

}  // namespace info
