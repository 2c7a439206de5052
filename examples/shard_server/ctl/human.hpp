#pragma once

#include <nlohmann/json.hpp>

namespace shard {

/// Prints an answer of the control socket for people: the value in the form of its command, and which members
/// took part.
void print_answer(const nlohmann::json& answer);

}  // namespace shard
