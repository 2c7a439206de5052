#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "style.hpp"

namespace gossipctl {

using json = nlohmann::ordered_json;

/// These functions turn the answers of daemons into text for people. Each text ends with a newline.
std::string status_text(const json& status, const style& with);
/// Returns a table and a line with the sums.
std::string members_text(const json& members, double interval_ms, const style& with);
std::string explain_text(const json& verdict, const style& with);
std::string dump_text(const json& dump, const style& with);
/// Returns one line.
std::string event_text(const json& event, const std::string& time, const style& with);

/// Formats a duration as in "2.2 s", "450 ms", "3 min", "2.0 h", "4.1 d".
std::string duration_text(double milliseconds);

}  // namespace gossipctl
