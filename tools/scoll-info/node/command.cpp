#include "command.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>
#include <variant>

#include "ask.hpp"
#include "tables.hpp"

namespace info {
namespace {

enum exit_code { all_well = 0, failed = 1, refused = 2 };

int complain(const complaint& c) {
  fmt::print(stderr, "scoll-info: {}\n", c.text);
  return c.refused ? refused : failed;
}

int print_metrics(const std::string& socket) {
  const auto text = ask_metrics(socket);
  if (const auto* wrong = std::get_if<complaint>(&text)) return complain(*wrong);
  fmt::print("{}", std::get<std::string>(text));
  return all_well;
}

int print_events_to_come(const std::string& socket, bool as_json) {
  const auto tell = [as_json](const json& event) {
    fmt::print("{}\n", as_json ? event.dump() : event_text(event));
    std::fflush(stdout);
  };
  const auto followed = follow_events(socket, tell);
  if (const auto* wrong = std::get_if<complaint>(&followed)) return complain(*wrong);
  fmt::print(stderr, "scoll-info: the node has closed the connection\n");
  return all_well;
}

}  // namespace

void add_node_commands(CLI::App& app, node_request& r) {
  app.add_option("--node", r.socket, "Ask a running node at its control socket (the setting node.control)");
  app.require_subcommand(0, 1);
  constexpr std::pair<const char*, const char*> commands[] = {
      {"peers", "The other nodes: connections, credit, what waits"},
      {"peer", "One of them, with its latest events"},
      {"rails", "Its own rails, and the paths to its peers"},
      {"explain", "Why messages to a node take the path that they take"},
      {"groups", "The groups that the node holds"},
      {"operations", "Broadcasts and group operations that run now"},
      {"calls", "Functions that it serves, and their calls"},
      {"memory", "Bounds of the node, and how full they are"},
      {"metrics", "All counters, in Prometheus' text format"},
      {"events", "The latest 256 events"},
      {"security", "Mode, keys and certificate, and what was refused"},
  };
  for (const auto& [name, about] : commands) {
    CLI::App* const added = app.add_subcommand(name, about)->fallthrough();
    added->callback([&r, chosen = name] { r.command = chosen; });
  }
  app.get_subcommand("peer")->add_option("id", r.peer, "Its id")->required();
  app.get_subcommand("explain")->add_option("id", r.peer, "Its id")->required();
  app.get_subcommand("events")->add_flag("--follow", r.follow, "Go on with those to come");
}

int ask_node(const node_request& r, bool as_json) {
  if (r.command == "metrics") return print_metrics(r.socket);
  if (r.follow) return print_events_to_come(r.socket, as_json);
  const bool of_peer = r.command == "peer" || r.command == "explain";
  const std::string command = of_peer ? fmt::format("{} {}", r.command, r.peer) : r.command;
  const auto answer = ask(r.socket, command);
  if (const auto* wrong = std::get_if<complaint>(&answer)) return complain(*wrong);
  const json& all = std::get<json>(answer);
  fmt::print("{}", as_json ? all.dump(2) + "\n" : table_of(command, all));
  return all_well;
}

}  // namespace info
