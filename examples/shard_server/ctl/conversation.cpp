#include "conversation.hpp"

#include <fmt/format.h>

#include <cstdio>

#include "text.hpp"

namespace shard {
namespace {

using nlohmann::json;

/// Formats a line such as "1,204 of 4,000 objects (30%), 61.3 MiB, 16 servers".
std::string describe_progress(const json& p) {
  const auto done = p.value("done", std::uint64_t{0});
  const auto total = p.value("total", std::uint64_t{0});
  const std::string known =
      total == 0 ? "" : fmt::format(" of {} objects ({}%)", with_commas(total), 100 * done / total);
  return fmt::format("{}{}, {}, {} servers", with_commas(done), known,
                     as_size(p.value("bytes", std::uint64_t{0})), p.value("servers", 0));
}

/// Clears its line when it is destroyed.
class progress_line {
 public:
  explicit progress_line(progress_style style) : style_(style) {}
  ~progress_line() {
    if (shown_) fmt::print(stderr, "\r\x1b[K");
  }
  progress_line(const progress_line&) = delete;
  progress_line& operator=(const progress_line&) = delete;

  void show(const json& progress) {
    if (style_ == progress_style::none) return;
    shown_ = style_ == progress_style::one_line;
    const std::string text = describe_progress(progress);
    std::fputs((shown_ ? "\r\x1b[K" + text : text + '\n').c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  progress_style style_;
  bool shown_ = false;
};

bool empty_or_absent(const json& answer, const char* key) {
  return !answer.contains(key) || answer[key].empty();
}

}  // namespace

std::optional<control_client> connect(const cluster_config& config, std::optional<scoll::node_id> node) {
  for (const cluster_node& each : config.nodes) {
    if (node && each.id != *node) continue;
    if (auto client = control_client::connect(each.control)) return client;
  }
  return std::nullopt;
}

std::optional<json> converse(control_client& server, const json& command, progress_style style,
                             std::chrono::milliseconds silence,
                             const std::function<void(const std::string&)>& on_bytes) {
  if (!server.send_line(command.dump(-1, ' ', false, json::error_handler_t::replace))) return std::nullopt;
  return await_answer(server, style, silence, on_bytes);
}

std::optional<json> await_answer(control_client& server, progress_style style,
                                 std::chrono::milliseconds silence,
                                 const std::function<void(const std::string&)>& on_bytes) {
  progress_line progress(style);
  while (const auto line = server.read_line(silence)) {
    json said = json::parse(*line, nullptr, false);
    if (!said.is_object()) break;
    if (said.contains("progress")) {
      progress.show(said["progress"]);
    } else if (said.contains("bytes") && on_bytes) {
      on_bytes(said["bytes"].get<std::string>());
    } else {
      return said;
    }
  }
  return std::nullopt;
}

exit_code exit_code_of(const json& answer) {
  const std::string code = answer["status"]["code"];
  if (code == "ok" && empty_or_absent(answer, "absent")) return all_executed;
  if (code == "invalid_argument" && !answer.contains("outcome")) return bad_usage;
  const bool some = answer.contains("outcome") &&
                    !(answer["outcome"]["merged"].empty() && answer["outcome"]["executed"].empty());
  return some ? partial_answer : no_answer;
}

}  // namespace shard
