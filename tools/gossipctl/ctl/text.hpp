#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "style.hpp"

namespace gossipctl {

using json = nlohmann::ordered_json;

/// What people read, made from the answers of daemons. Each ends with a newline.
std::string status_text(const json& status, const style& with);
/// A table, and a line with the sums.
std::string members_text(const json& members, double interval_ms, const style& with);
std::string explain_text(const json& verdict, const style& with);
std::string dump_text(const json& dump, const style& with);
/// One line.
std::string event_text(const json& event, const std::string& time, const style& with);

/// "2.2 s", "450 ms", "3 min", "2.0 h", "4.1 d".
std::string duration_text(double milliseconds);

}  // namespace gossipctl
