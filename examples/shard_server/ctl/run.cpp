#include "run.hpp"

#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>

#include "../cluster/cluster_file.hpp"
#include "../cluster/new_cluster.hpp"
#include "../services/source_walk.hpp"
#include "asking.hpp"
#include "direct.hpp"
#include "transfer.hpp"
#include "tree_view.hpp"

namespace shard::ctl {

using nlohmann::json;
using std::chrono::milliseconds;

int ask_plain(const std::string& name, const arguments& args) {
  return ask(args, command_of(name, args));
}

int scrub(const arguments& args) {
  return ask(args, command_of("scrub", args, {{"pace_ms", args.pace_ms}}));
}

int find(const arguments& args) {
  return ask(args, command_of("find", args, {{"pattern", args.text}}));
}

int where(const arguments& args) {
  return ask(args, command_of("where", args, {{"object", args.text}}));
}

int ingest(const arguments& args) {
  std::error_code failed;
  const auto folder = std::filesystem::canonical(args.text, failed);
  if (failed) throw usage_error(fmt::format("{}: {}", args.text, failed.message()));
  json command = command_of("ingest", args);
  command["folder"] = folder.string();
  command["max_objects"] = args.max_objects;
  command["max_bytes"] = args.max_mib << 20;
  return ask(args, command);
}

int install(const arguments& args) {
  std::error_code failed;
  const auto file = std::filesystem::canonical(args.file, failed);
  if (failed) throw usage_error(fmt::format("{}: {}", args.file, failed.message()));
  json command = command_of("install", args);
  command["file"] = file.string();
  command["object"] = args.text.empty() ? std::filesystem::path(args.file).filename().string() : args.text;
  command["plan"] = args.plan;
  return ask(args, command);
}

namespace {

/// The time that a client gives its calls.
scoll::nanoseconds limit_of(const arguments& args, const cluster_config& config) {
  if (args.timeout_s == 0) return config.quick_deadline;
  return std::chrono::duration_cast<scoll::nanoseconds>(std::chrono::duration<double>(args.timeout_s));
}

}  // namespace

int put(const arguments& args) {
  if (args.text.empty() && args.file == "-") throw usage_error("what comes from stdin needs a NAME");
  const auto config = read_config(args);
  const std::string name =
      args.text.empty() ? object_name_of(std::filesystem::absolute(args.file).lexically_normal().string())
                        : args.text;
  if (args.direct)
    return show(put_directly(config, args.file, name, limit_of(args, config), args.client), args);
  auto server = connect(config, args.node);
  if (!server) return unreachable();
  json command = command_of("put", args);
  command["object"] = name;
  return show(put_file(*server, command, args.file, silence_of(command, config)), args);
}

namespace {

/// What was written to stdout is the object, so the answer goes to stderr.
int end_get(const std::optional<json>& answer, const arguments& args) {
  const auto code = exit_code_of(*answer);
  if (args.as_json && !args.file.empty()) return show(answer, args);
  if (code != all_executed) fmt::print(stderr, "{}\n", (*answer)["status"].value("text", ""));
  return code;
}

}  // namespace

int get(const arguments& args) {
  const auto config = read_config(args);
  if (args.direct)
    return end_get(get_directly(config, args.text, args.file, limit_of(args, config), args.client), args);
  auto server = connect(config, args.node);
  if (!server) return unreachable();
  json command = command_of("get", args);
  command["object"] = args.text;
  const auto answer = get_file(*server, command, args.file, silence_of(command, config));
  return answer ? end_get(answer, args) : unreachable();
}

int tree(const arguments& args) {
  const auto config = read_config(args);
  if (config.choose_tree)
    throw usage_error(
        fmt::format("{}: its servers choose their trees: ask for `shardctl plan`", args.cluster));
  const auto root = args.node ? *config.rank_of(*args.node) : 0;
  auto form = args.as_json ? tree_form::json : tree_form::text;
  if (args.form == "dot") form = tree_form::dot;
  if (args.form == "list") form = tree_form::list;
  show_tree(std::cout, config, root, form);
  return all_executed;
}

int stop(const arguments& args) {
  constexpr milliseconds limit(15'000);
  const auto config = read_config(args);
  if (!args.all && !args.node) throw usage_error("stop what? give --node ID or --all");
  std::vector<std::pair<std::uint64_t, control_client>> stopping;
  std::vector<std::uint64_t> not_running;
  std::vector<std::uint64_t> stuck;
  for (const auto& node : config.nodes) {
    if (!args.all && node.id != *args.node) continue;
    auto server = control_client::connect(node.control);
    if (server && server->send_line(command_of("stop", args).dump())) {
      stopping.emplace_back(node.id, std::move(*server));
    } else {
      not_running.push_back(node.id);
    }
  }
  for (auto& [id, server] : stopping) {
    if (!server.wait_for_end(limit)) stuck.push_back(id);
  }
  json result;
  result["stopped"] = stopping.size() - stuck.size();
  result["not_running"] = not_running;
  result["stuck"] = stuck;
  if (args.as_json) {
    fmt::print("{}\n", result.dump());
  } else {
    fmt::print("{} servers stopped\n", stopping.size() - stuck.size());
    if (!not_running.empty()) fmt::print("not running: {}\n", fmt::join(not_running, " "));
    if (!stuck.empty()) fmt::print("still running: {}\n", fmt::join(stuck, " "));
  }
  if (stopping.empty()) return no_answer;
  return not_running.empty() && stuck.empty() ? all_executed : partial_answer;
}

int init(const arguments& args) {
  const auto made = make_local_cluster(args.folder, args.made);
  if (const auto* wrong = std::get_if<std::string>(&made)) throw usage_error(*wrong);
  const auto& file = std::get<std::filesystem::path>(made);
  const auto checked = read_cluster_file(file);
  if (const auto* wrong = std::get_if<std::string>(&checked)) {
    std::filesystem::remove(file);
    throw usage_error(*wrong);
  }
  fmt::print("{}\n", file.string());
  return all_executed;
}

}  // namespace shard::ctl
