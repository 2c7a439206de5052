#pragma once

#include <nlohmann/json.hpp>

namespace shard {

/// Prints an answer of the control socket for people: the value as its command likes it, and who took part.
void print_answer(const nlohmann::json& answer);

}  // namespace shard
