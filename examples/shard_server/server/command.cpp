#include "command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace shard {
namespace {

using nlohmann::json;

/// Reads the members of an object by a table of the known ones. An empty text means success.
using readers = std::map<std::string_view, std::function<void(const json&)>>;

std::string read_members(const std::string& line, const readers& known) {
  const json object = json::parse(line, nullptr, false);
  if (!object.is_object()) return "not a JSON object";
  for (const auto& [key, value] : object.items()) {
    const auto reader = known.find(key);
    if (reader == known.end()) return fmt::format("there is no member '{}'", key);
    try {
      reader->second(value);
    } catch (const std::exception&) {
      return fmt::format("'{}' has the wrong type", key);
    }
  }
  return {};
}

auto text_into(std::string& text) {
  return [&text](const json& value) { value.get_to(text); };
}
auto flag_into(bool& flag) {
  return [&flag](const json& value) { value.get_to(flag); };
}
auto number_into(std::uint64_t& number) {
  return [&number](const json& value) {
    if (!value.is_number_unsigned()) throw std::invalid_argument("negative, or not a whole number");
    value.get_to(number);
  };
}
/// Reads a number of `unit`s, at most a week.
template <class Unit>
auto time_into(scoll::nanoseconds& time) {
  return [&time](const json& value) {
    constexpr std::chrono::duration<double> week = std::chrono::hours(7 * 24);
    const std::chrono::duration<double, typename Unit::period> given(value.get<double>());
    const auto bounded = std::clamp<std::chrono::duration<double>>(given, std::chrono::seconds(0), week);
    time = std::chrono::duration_cast<scoll::nanoseconds>(bounded);
  };
}

}  // namespace

std::variant<command, std::string> parse_command(const std::string& line) {
  command c;
  const readers known = {
      {"command", text_into(c.name)},
      {"timeout_s", time_into<std::chrono::seconds>(c.timeout)},
      {"pace_ms", time_into<std::chrono::milliseconds>(c.pace)},
      {"living", flag_into(c.living)},
      {"object", text_into(c.object)},
      {"pattern", text_into(c.pattern)},
      {"folder", text_into(c.folder)},
      {"file", text_into(c.file)},
      {"plan", text_into(c.plan)},
      {"max_objects", number_into(c.max_objects)},
      {"max_bytes", number_into(c.max_bytes)},
      {"slots", number_into(c.slots)},
      {"delayed", flag_into(c.delayed)},
      {"inline_only", flag_into(c.inline_only)},
      {"pool", number_into(c.pool)},
      {"client", number_into(c.client)},
      {"step", text_into(c.step)},
      {"note", text_into(c.note)},
      {"again", flag_into(c.again)},
      {"code", number_into(c.code)},
      {"text", text_into(c.text)},
  };
  if (std::string wrong = read_members(line, known); !wrong.empty()) return wrong;
  return c;
}

std::variant<put_piece, std::string> parse_put_piece(const std::string& line) {
  put_piece piece;
  const readers known = {{"bytes", text_into(piece.base64)}, {"end", flag_into(piece.end)}};
  if (std::string wrong = read_members(line, known); !wrong.empty()) return wrong;
  return piece;
}

}  // namespace shard
