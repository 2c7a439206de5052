#include "listing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string>

#include "asking.hpp"

namespace shard::ctl {

using nlohmann::json;

namespace {

/// Names are below a folder if they begin with its name and a slash; no name begins with one.
std::string prefix_of(std::string folder) {
  folder.erase(0, std::min(folder.find_first_not_of('/'), folder.size()));
  if (!folder.empty() && folder.back() != '/') folder += '/';
  return folder;
}

void print_names(const json& names) {
  for (const json& name : names) {
    const auto& text = name.get_ref<const std::string&>();
    std::fwrite(text.data(), 1, text.size(), stdout);
    std::fputc('\n', stdout);
  }
}

int end(const json& answer) {
  const exit_code code = exit_code_of(answer);
  if (code != all_executed)
    fmt::print(stderr, "INCOMPLETE: {}: {}\n", answer["status"].value("code", ""),
               answer["status"].value("text", ""));
  return code;
}

}  // namespace

int ls(const arguments& args) {
  const auto config = read_config(args);
  auto server = connect(config, args.node);
  if (!server) return unreachable();
  json command = command_of("ls", args);
  command["object"] = prefix_of(args.text);
  if (!server->send_line(command.dump(-1, ' ', false, json::error_handler_t::replace))) return unreachable();
  while (const auto line = server->read_line(silence_of(command, config))) {
    const json said = json::parse(*line, nullptr, false);
    if (!said.is_object()) break;
    if (args.as_json) fmt::print("{}\n", *line);
    if (said.contains("status")) return args.as_json ? exit_code_of(said) : end(said);
    if (!args.as_json && said.contains("names")) print_names(said["names"]);
    if (std::ferror(stdout) != 0) return no_answer;  // nobody reads; the server hears that when this ends
  }
  return unreachable();
}

}  // namespace shard::ctl
