#include "scoll/node_control/answers.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <sstream>

#include "scoll/coro/error_format.hpp"
#include "scoll/detail/spelling.hpp"
#include "scoll/node_control/metrics.hpp"
#include "scoll/node_control/rails.hpp"
#include "scoll/node_control/rows.hpp"
#include "transport/session/endpoint.hpp"

namespace scoll::detail {
namespace {

constexpr std::array<std::string_view, 11> commands{"peers",   "peer",       "rails",   "explain",
                                                    "groups",  "operations", "calls",   "memory",
                                                    "metrics", "events",     "security"};

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t parsed = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), parsed);
  if (failed != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return parsed;
}

/// Reads what `text_of` writes.
std::optional<group_id> group_of(const std::string& text) {
  std::array<std::uint64_t, 3> parts{};
  std::istringstream in(text);
  std::string part;
  for (std::uint64_t& each : parts) {
    if (!std::getline(in, part, '.')) return std::nullopt;
    const auto parsed = number_of(part);
    if (!parsed) return std::nullopt;
    each = *parsed;
  }
  if (std::getline(in, part)) return std::nullopt;
  return group_id{parts[0], parts[1], parts[2], {}};
}

/// Texts of groups and peers may be no UTF-8.
std::string line_of(const json& what) {
  return what.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// False for the events of groups, whose peer is the creator.
bool is_about_peer(node_event_kind kind) noexcept {
  static_assert(static_cast<std::size_t>(node_event_kind::group_revoked) + 1 == node_event_kinds,
                "the kinds about groups come last");
  return kind < node_event_kind::group_created;
}

json begin(const node& of) {
  return {{"node", of.id()}, {"incarnation", of.incarnation()}};
}

template <class Rows, class Describe>
json list(const Rows& rows, Describe describe) {
  auto all = json::array();
  for (std::size_t i = 0; i < std::min(rows.size(), most_rows); ++i) all.push_back(describe(rows[i]));
  return all;
}

error no_number(const control_command& command) {
  return make_error(errc::invalid_argument, "{} takes a number, not '{}'", command.name,
                    command.arguments.front());
}

/// The number with which a portion begins; 0 if the command has none.
result<std::uint64_t> first_of(const control_command& command) {
  if (command.arguments.empty()) return std::uint64_t{0};
  const auto first = number_of(command.arguments.front());
  if (!first) return no_number(command);
  return *first;
}

result<json> peers(const control_command& command, const node& of) {
  const auto first = first_of(command);
  if (!first) return first.error();
  const auto found = of.peers(*first, most_rows + 1);
  json all = begin(of);
  all["peers"] = list(found, peer_json);
  if (found.size() > most_rows) all["next"] = std::to_string(found.back().id);
  return all;
}

/// The peer that a command names.
result<peer_snapshot> peer_of(const control_command& command, const node& of) {
  if (command.arguments.empty()) {
    return make_error(errc::invalid_argument, "{0} takes the number of a node, such as: {0} 3", command.name);
  }
  const auto id = number_of(command.arguments.front());
  if (!id) return no_number(command);
  auto found = of.peers(*id, 1);
  if (found.empty() || found.front().id != *id)
    return make_error(errc::not_found, "node {} does not know node {}", of.id(), *id);
  return std::move(found.front());
}

result<json> peer(const control_command& command, const node& of) {
  const auto found = peer_of(command, of);
  if (!found) return found.error();
  json all = begin(of);
  all["peer"] = peer_json(*found);
  auto latest = json::array();
  for (const node_event& e : of.events()) {
    if (e.peer == found->id && is_about_peer(e.kind)) latest.push_back(event_json(of, e));
  }
  all["events"] = std::move(latest);
  return all;
}

/// An answer with paths has fewer peers than one without: each has up to 64.
constexpr std::size_t most_peers_with_paths = 64;

result<json> rails(const control_command& command, const node& of) {
  const auto first = first_of(command);
  if (!first) return first.error();
  json all = begin(of);
  all["rails"] = list(of.rails(), rail_json);
  const auto found = of.peers(*first, most_peers_with_paths + 1);
  auto peers = json::array();
  for (std::size_t i = 0; i < std::min(found.size(), most_peers_with_paths); ++i)
    peers.push_back({{"id", found[i].id}, {"paths", list(of.paths(found[i].id), path_json)}});
  all["peers"] = std::move(peers);
  if (found.size() > most_peers_with_paths) all["next"] = std::to_string(found.back().id);
  return all;
}

result<json> explain(const control_command& command, const node& of) {
  const auto found = peer_of(command, of);
  if (!found) return found.error();
  json all = begin(of);
  all["peer"] = found->id;
  all["sentences"] = explain_paths(of.id(), found->id, of.paths(found->id));
  return all;
}

result<json> groups(const control_command& command, const node& of) {
  const auto first = command.arguments.empty() ? group_id{} : group_of(command.arguments.front());
  if (!first) {
    return make_error(errc::invalid_argument, "groups takes the id of a group, such as 1.7.3, not '{}'",
                      command.arguments.front());
  }
  const auto found = of.groups(*first, most_rows + 1);
  json all = begin(of);
  all["groups"] = list(found, group_json);
  if (found.size() > most_rows) all["next"] = text_of(found.back().id);
  return all;
}

result<json> operations(const control_command& command, const node& of) {
  const auto first = first_of(command);
  if (!first) return first.error();
  const auto found = of.operations(*first, most_rows + 1);
  json all = begin(of);
  all["operations"] = list(found, operation_json);
  if (found.size() > most_rows) all["next"] = std::to_string(*first + most_rows);
  return all;
}

json calls(const node& of) {
  json all = begin(of);
  const auto functions = of.functions();
  const auto now = of.calls(most_rows);
  const auto resources = of.resources();
  for (const char* name : {"handlers", "awaited_calls", "large_memory_bytes"}) {
    const auto at = std::ranges::find(resources, name, &resource_snapshot::name);
    all[name] = {{"used", at->used}, {"limit", at->limit}};
  }
  all["functions"] = list(functions, function_json);
  all["functions_left_out"] = functions.size() - std::min(functions.size(), most_rows);
  all["calls"] = list(now, call_json);
  return all;
}

json memory(const node& of, transport::reactor& loop) {
  json all = begin(of);
  auto rows = of.resources();
  const transport::buffer_pool& pool = loop.receive_pool();
  rows.push_back({"receive_buffers", "receive buffers that hold received bytes", pool.lent(), pool.limit()});
  all["resources"] = list(rows, resource_json);
  return all;
}

json security(node& of) {
  json all = begin(of);
  all.update(security_json(of.security(), of.wire().statistics().not_authentic));
  return all;
}

result<json> events(const control_command& command, const node& of) {
  const auto asked = asks_for_events(command);
  if (!asked) return error(errc::invalid_argument, "events takes a number and the word follow");
  json all = begin(of);
  auto rows = json::array();
  for (const node_event& e : of.events(asked->after)) rows.push_back(event_json(of, e));
  all["events"] = std::move(rows);
  return all;
}

error unknown(std::string_view name) {
  const std::string near = nearest_spelling(name, commands);
  if (!near.empty()) {
    return make_error(errc::not_found, "there is no command '{}': did you mean {}?", name.substr(0, 32),
                      near);
  }
  return make_error(errc::not_found, "there is no command '{}': try peers, groups or metrics",
                    name.substr(0, 32));
}

result<json> answer_of(const control_command& command, node& of, transport::reactor& loop) {
  if (command.name == "peers") return peers(command, of);
  if (command.name == "peer") return peer(command, of);
  if (command.name == "rails") return rails(command, of);
  if (command.name == "explain") return explain(command, of);
  if (command.name == "groups") return groups(command, of);
  if (command.name == "operations") return operations(command, of);
  if (command.name == "calls") return calls(of);
  if (command.name == "memory") return memory(of, loop);
  if (command.name == "events") return events(command, of);
  if (command.name == "security") return security(of);
  return unknown(command.name);
}

}  // namespace

control_command control_command::parse(std::string_view line) {
  control_command command;
  std::istringstream in{std::string(line)};
  in >> command.name;
  for (std::string word; in >> word;) command.arguments.push_back(std::move(word));
  return command;
}

std::optional<events_question> asks_for_events(const control_command& command) {
  if (command.name != "events") return std::nullopt;
  events_question asked;
  for (const std::string& word : command.arguments) {
    const auto number = number_of(word);
    if (!number && word != "follow") return std::nullopt;
    if (number) asked.after = *number;
    asked.follow |= !number;
  }
  return asked;
}

std::string answer_to(const control_command& command, node& of, transport::reactor& loop) {
  if (command.name == "metrics") return node_metrics(of, loop);
  const auto answer = answer_of(command, of, loop);
  return answer ? line_of(*answer) : error_line(answer.error());
}

std::string event_line(const node& of, const node_event& e) {
  return line_of(event_json(of, e));
}

std::string error_line(const error& why) {
  return line_of({{"error", {{"code", to_string(why.code())}, {"text", why.text()}}}});
}

}  // namespace scoll::detail
