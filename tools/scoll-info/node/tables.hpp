#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace info {

using json = nlohmann::ordered_json;

/// The answer of a node to a command as text for a person.
std::string table_of(const std::string& command, const json& answer);

/// One event as a line for a person.
std::string event_text(const json& event);

}  // namespace info
