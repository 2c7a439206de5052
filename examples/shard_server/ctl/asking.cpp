#include "asking.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "human.hpp"

namespace shard::ctl {

using nlohmann::json;
using std::chrono::milliseconds;

cluster_config read_config(const arguments& args) {
  if (args.cluster.empty()) throw usage_error("which cluster? give --cluster FILE, or set SHARD_CLUSTER");
  auto read = read_cluster_file(args.cluster);
  if (const auto* wrong = std::get_if<std::string>(&read)) throw usage_error(*wrong);
  auto config = std::get<cluster_config>(std::move(read));
  if (args.node && !config.rank_of(*args.node))
    throw usage_error(fmt::format("{}: there is no node {}", args.cluster, *args.node));
  return config;
}

progress_style progress_of(const arguments& args) {
  if (args.progress == "lines") return progress_style::lines;
  const bool terminal = isatty(STDERR_FILENO) == 1 && !args.as_json;
  return args.progress == "auto" && terminal ? progress_style::one_line : progress_style::none;
}

milliseconds silence_of(const json& command, const cluster_config& config) {
  const std::string name = command["command"];
  const bool slow = name == "scrub" || name == "ingest" || name == "install" || name == "ls";
  const auto limit = slow ? config.long_deadline : config.quick_deadline;
  const double seconds = command.value("timeout_s", std::chrono::duration<double>(limit).count());
  return milliseconds(static_cast<std::int64_t>(seconds * 1000)) + milliseconds(10'000);
}

json command_of(const std::string& name, const arguments& args, const json& fields) {
  json command = fields;
  command["command"] = name;
  if (args.timeout_s > 0) command["timeout_s"] = args.timeout_s;
  if (args.living) command["living"] = true;
  return command;
}

int unreachable() {
  fmt::print(stderr, "no server answers: is the cluster running?\n");
  return no_answer;
}

int show(const std::optional<json>& answer, const arguments& args) {
  if (!answer) return unreachable();
  if (args.as_json) {
    fmt::print("{}\n", answer->dump(-1, ' ', false, json::error_handler_t::replace));
  } else {
    print_answer(*answer);
  }
  return exit_code_of(*answer);
}

namespace {

/// The answer if a server was asked and has not answered. It may have carried out the command.
json unanswered(const json& command) {
  const bool may_decide = command["command"] == "commit";
  const std::string code = may_decide ? "undecided" : "connection_lost";
  json answer;
  answer["command"] = command["command"];
  answer["status"]["code"] = code;
  answer["status"]["text"] = fmt::format(
      "{}: the server that was asked has ended, or was silent for too long, before its answer; {}", code,
      may_decide ? "the epoch may still come about" : "the command may have been carried out");
  answer["value"] = nullptr;
  return answer;
}

}  // namespace

int ask(const arguments& args, const json& command) {
  const auto config = read_config(args);
  auto server = connect(config, args.node);
  if (!server) return unreachable();
  if (!server->send_line(command.dump(-1, ' ', false, json::error_handler_t::replace))) return unreachable();
  auto answer = await_answer(*server, progress_of(args), silence_of(command, config));
  if (!answer) answer = unanswered(command);
  if (!args.trace && !args.as_json) answer->erase("trace");
  if (command["command"] == "top" && !(*answer)["value"].is_null()) {
    auto& largest = (*answer)["value"]["largest"];
    if (largest.size() > args.count)
      largest.erase(largest.begin() + static_cast<int>(args.count), largest.end());
  }
  return show(answer, args);
}

}  // namespace shard::ctl
