#include "choose.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <variant>

#include "run.hpp"

namespace gossipctl {

using scoll::transport::control_client;

config need_config(const arguments& args) {
  auto read = read_config(args.config);
  if (const auto* wrong = std::get_if<std::string>(&read)) throw usage_error(*wrong);
  return std::get<config>(std::move(read));
}

std::vector<participant_index> own_participants(const config& c, const arguments& args) {
  if (!args.self.empty()) {
    const auto found = find_participant(c, args.self);
    if (const auto* wrong = std::get_if<std::string>(&found)) throw usage_error(*wrong);
    return {std::get<participant_index>(found)};
  }
  auto all = local_participants(c);
  if (all.empty()) {
    throw usage_error(
        fmt::format("{}: no participant has an address of this host; --self ADDRESS says which "
                    "one this is",
                    c.file.string()));
  }
  return all;
}

participant_index own_participant(const config& c, const arguments& args) {
  const auto all = own_participants(c, args);
  if (all.size() == 1) return all.front();
  throw usage_error(fmt::format("{} participants are of this host, such as {} and {}: say which with --self",
                                all.size(), c.shared->address(all[0]), c.shared->address(all[1])));
}

std::optional<control_client> connect(const config& c, const arguments& args) {
  for (const participant_index who : own_participants(c, args)) {
    if (auto client = control_client::connect(place(c, who).control())) return client;
  }
  return std::nullopt;
}

std::optional<json> ask(control_client& daemon, const json& command, double seconds) {
  if (!daemon.send_line(command.dump())) return std::nullopt;
  const auto line = daemon.read_line(std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000)));
  if (!line) return std::nullopt;
  json parsed = json::parse(*line, nullptr, false);
  if (!parsed.is_object() || !parsed.contains("ok")) return std::nullopt;
  return parsed;
}

answer ask_daemon(const arguments& args, const json& command) {
  const config c = need_config(args);
  auto daemon = connect(c, args);
  if (!daemon) {
    fmt::print(stderr, "no daemon answers: `gossipctl start` starts one\n");
    return {std::nullopt, no_daemon};
  }
  auto said = ask(*daemon, command, args.wait_s);
  if (!said) {
    fmt::print(stderr, "the daemon took the question and did not answer within {} s\n", args.wait_s);
    return {std::nullopt, no_daemon};
  }
  if (!said->value("ok", false)) {
    fmt::print(stderr, "the daemon refuses: {}\n", said->value("error", "without a reason"));
    return {std::nullopt, failed};
  }
  return {std::move((*said)["value"]), all_well};
}

}  // namespace gossipctl
